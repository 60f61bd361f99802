#include "loader/format/read_message.hpp"

#include "loader/format/external.hpp"
#include "loader/format/other_format.hpp"
#include "loader/format/tensor.hpp"
#include "loader/format/wire.hpp"

namespace tenon::TENON_ABI::loader {

namespace {

void parse_message(std::span<const std::byte> bytes, bool in_place, onnx::ModelProto& message) {
  if (bytes.size() > INT32_MAX * std::size_t{1024})
    throw Error(ErrorCode::invalid_model, "model", "the file is too large");
  const std::optional<std::string> stripped = strip_raw_data(bytes);
  const bool whole = !in_place || !stripped;
  const auto size = whole ? bytes.size() : stripped->size();
  if (size > INT32_MAX)
    throw Error(ErrorCode::invalid_model, "model",
                in_place ? "more than 2 GiB in addition to raw tensor data" : "more than 2 GiB");
  if (!message.ParseFromArray(whole ? static_cast<const void*>(bytes.data()) : stripped->data(),
                              static_cast<int>(size)))
    throw Error(ErrorCode::invalid_model, "model", "not a ModelProto");
}

}  // namespace

void read_message(std::span<const std::byte> bytes, bool in_place, onnx::ModelProto& message) {
  if (bytes.empty()) throw Error(ErrorCode::invalid_model, {}, "the file is empty");
  try {
    parse_message(bytes, in_place, message);
  } catch (const Error&) {
    const std::string_view other = other_format(bytes);
    if (other.empty()) throw;
    throw Error(ErrorCode::invalid_model, {}, str_cat("not an ONNX model: ", other));
  }
}

onnx::ModelProto read_whole_message(const std::shared_ptr<const MappedFile>& file) {
  onnx::ModelProto message;
  read_message(file->bytes(), true, message);
  const DataSource source{.model = file->bytes(), .file = file, .external = {}};
  for_each_tensor(message, [&](onnx::TensorProto& t, bool) { restore_raw_data(t, source); });
  return message;
}

}  // namespace tenon::TENON_ABI::loader
