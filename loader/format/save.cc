#include "loader/format/save.hpp"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>

#include "loader/convert/convert.hpp"
#include "loader/display.hpp"
#include "loader/edit/order.hpp"
#include "loader/text/print_text.hpp"
#include "loader/text/text_words.hpp"
#include "tenon/base/types.hpp"
#include "tenon/graph/shared_constants.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

namespace fs = std::filesystem;

constexpr int64_t alignment = 64;               // a cache line, and the widest vector
constexpr int64_t page = 4096;                  // so that a tensor can be mapped on its own
constexpr int64_t least_on_pages = 64 << 10;    // smaller ones would mostly be padding
constexpr int64_t most_in_message = INT32_MAX;  // protobuf's limit
constexpr std::size_t longest_name = 255;       // of a file, in bytes

// The file next to a model that holds external data.
class DataFile {
 public:
  DataFile(const fs::path& model, const std::string& name)
      : model_(path_text(model.filename())), name_(name), out_(model) {
    if (out_.at_once())
      throw Error(ErrorCode::io, path_text(model), "it is not a file, so external data has no folder");
  }

  // `from` has the data if the tensor is external.
  void add(onnx::TensorProto& t, const FileBytes& data, ExternalFiles* from) {
    const auto size = static_cast<int64_t>(data.bytes.size());
    int64_t offset = -1;
    int64_t& known = data.file ? offsets_.try_emplace({data.bytes.data(), size}, -1).first->second : offset;
    if (known < 0) {
      const int64_t multiple = size < least_on_pages ? alignment : page, end = out_.size();
      known = (end + multiple - 1) / multiple * multiple;
      append(std::string(static_cast<std::size_t>(known - end), '\0'));
      const std::string_view bytes(reinterpret_cast<const char*>(data.bytes.data()), data.bytes.size());
      if (is_external(t)) {
        const auto [file, at] = from->open_data(t);
        append(bytes, &file, at);
      } else {
        append(bytes);
      }
      data.forget();
    }
    set_reference(t, {.location = {}, .offset = known, .size = size, .checksum = {}});
    tensors_.push_back(&t);
  }

  // The name of data with a digest.
  static std::string name_of(std::string model, uint64_t digest) {
    std::string rest = ".";
    add_hex(rest, digest, 16);
    rest += ".data";
    std::size_t size = std::min(model.size(), longest_name - rest.size());
    // Not in the middle of a UTF-8 character.
    while (size > 0 && size < model.size() && (model[size] & 0xC0) == 0x80) --size;
    return model.substr(0, size) + rest;
  }

  // Names the data; until then the tensors' references lack the name.
  void set_name() {
    const bool by_caller = !name_.empty();
    const auto digest_of = [](const std::vector<Digest>& of) {
      return tenon::detail::digest_of(reinterpret_cast<const std::byte*>(of.data()),
                                      of.size() * sizeof of[0]);
    };
    Digest digest = digest_of(digests_);
    if (!by_caller) name_ = name_of(model_, digest[0]);
    for (out_.rename(name_); out_.differs_from_existing(); out_.rename(name_)) {
      if (by_caller)
        throw Error(
            ErrorCode::io, name_,
            "is there already, with other data that a model may refer to; without a name of its own, the "
            "data gets one that nothing else has");
      // The file was written to, or somebody chose data of the same digest.
      digest = digest_of({digest});
      name_ = name_of(model_, digest[0]);
    }
    for (onnx::TensorProto* t : tensors_) t->mutable_external_data(0)->set_value(name_);
  }
  void put_in_place() { out_.put_in_place(); }
  const std::string& name() const { return name_; }

 private:
  using Digest = tenon::detail::Digest;

  // In parts, so that the disk writes one while the next is digested. They may be bytes of a file.
  void append(std::string_view bytes, const Descriptor* file = nullptr, int64_t at = 0) {
    constexpr std::size_t part = 8 << 20;
    while (!bytes.empty()) {
      const std::string_view next = bytes.substr(0, part);
      const int64_t copied = file == nullptr ? 0 : out_.copy(*file, at, std::ssize(next));
      if (copied == 0) file = nullptr;
      if (copied < std::ssize(next)) out_.write(next.substr(static_cast<std::size_t>(copied)));
      digests_.push_back(tenon::detail::digest_of(std::as_bytes(std::span(next)).data(), next.size()));
      bytes.remove_prefix(next.size()), at += std::ssize(next);
    }
  }

  std::string model_, name_;
  NewFile out_;
  std::vector<Digest> digests_;  // of the parts
  std::vector<onnx::TensorProto*> tensors_;
  std::map<std::pair<const std::byte*, int64_t>, int64_t>
      offsets_;  // of parts of files, which tensors may share
};

// The size in bytes of a tensor's elements that are in a field of their type; 0 if they have no such form.
int64_t typed_bytes(const onnx::TensorProto& t) {
  const DType d = dtype_from_onnx(t.data_type());
  const int64_t count = elements_of(t);
  if (d == DType::undefined || d == DType::string || t.has_segment() || count <= 0 || count > INT64_MAX / 16)
    return 0;
  return packed_bytes(count, d);
}

// Passes a message to a file. An error of the file is held until protobuf has returned.
class Stream final : public google::protobuf::io::CopyingOutputStream {
 public:
  explicit Stream(NewFile& out) : out_(out) {}
  bool Write(const void* data, int size) override {
    try {
      out_.write({static_cast<const char*>(data), static_cast<std::size_t>(size)});
      return true;
    } catch (const Error& e) {
      error_ = e;
      return false;
    }
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  NewFile& out_;
  std::optional<Error> error_;
};

[[noreturn]] void fail_as_too_large(const fs::path& file) {
  throw Error(ErrorCode::not_supported, path_text(file),
              "a model's file has less than 2 GB; tensors can lie in another one as external data "
              "(external_threshold, "
              "or --external)");
}

void serialize(const onnx::ModelProto& model, const fs::path& file, NewFile& out) {
  if (static_cast<int64_t>(model.ByteSizeLong()) > most_in_message) fail_as_too_large(file);
  Stream stream(out);
  bool whole = false;
  {
    constexpr int block = 1 << 20;
    google::protobuf::io::CopyingOutputStreamAdaptor adaptor(&stream, block);
    whole = model.SerializeToZeroCopyStream(&adaptor) && adaptor.Flush();
  }
  if (stream.error()) throw *stream.error();
  if (!whole) throw Error(ErrorCode::io, path_text(file), "the model cannot be written");
}

[[noreturn]] void refuse_name(const std::string& data, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, str_cat("external data's file '", data, "'"), why);
}
void check_name(const fs::path& model, const std::string& data) {
  if (data.find('/') != data.npos || data == ".")
    refuse_name(data, "is not the name of a file in the model's folder");
  try {
    check_location(data);
  } catch (const Error& e) {
    refuse_name(data, e.message());
  }
  if (model.filename() == path_named(data)) refuse_name(data, "is the model's own file");
}

}  // namespace

ModelFormat format_of(const fs::path& file) {
  const std::string extension = path_text(file.extension());
  const auto refuse = [&](std::string_view format, auto... extensions) {
    if (((extension == extensions) || ...))
      throw Error(ErrorCode::not_supported, path_text(file),
                  str_cat("models in ", format,
                          " are not read or written here; '.onnx' files are, and ONNX's "
                          "textual syntax is"));
  };
  refuse("protobuf's text format", ".textproto", ".txtpb", ".prototxt", ".pbtxt");
  refuse("JSON", ".json", ".onnxjson");
  return extension == ".onnxtxt" || extension == ".onnxtext" ? ModelFormat::text : ModelFormat::binary;
}

void save_model(onnx::ModelProto model, const fs::path& file, const SaveOptions& options,
                const DataSource& source) {
  const ModelFormat format = format_of(file);
  if (!options.external_file.empty()) check_name(file, options.external_file);
  sort_nodes(model);
  if (options.opset) convert_opset(model, *options.opset, registry_of(options.registry));
  if (options.ir_version) convert_ir_version(model, *options.ir_version);
  NewFile out(file);
  std::optional<DataFile> data;
  const auto move_out = [&](onnx::TensorProto& t, const FileBytes& elements) {
    if (!data) {
      if (options.external_file.empty()) check_name(file, DataFile::name_of(path_text(file.filename()), 0));
      data.emplace(file, options.external_file);
    }
    data->add(t, elements, source.external.get());
  };
  int64_t brought_in = 0;
  const auto reserve = [&](std::size_t bytes) {
    if ((brought_in += static_cast<int64_t>(bytes)) > most_in_message) fail_as_too_large(file);
  };
  const auto threshold = options.external_threshold;
  const bool elsewhere = source.external && !same_folder(source.external->folder(), folder_of(file));
  std::error_code none;
  for_each_tensor(model, [&](onnx::TensorProto& t, bool in_attribute) {
    if (is_external(t) && source.external &&
        fs::equivalent(source.external->folder() / path_named(read_reference(t).location), file, none))
      throw Error(ErrorCode::io, path_text(file),
                  str_cat("the file holds the data of tensor '", t.name(), "'"));
    if (is_external(t) && source.external && (threshold || elsewhere)) {
      const FileBytes there = *raw_data_of(t, source);
      if (!there.bytes.empty() && static_cast<int64_t>(there.bytes.size()) >= threshold.value_or(0))
        return move_out(t, there);
      reserve(there.bytes.size());
      return embed(t, there);
    }
    if (!is_external(t) && threshold && (!in_attribute || options.external_attributes) &&
        t.data_type() != onnx::TensorProto::STRING) {
      if (const auto raw = raw_data_of(t, source)) {
        if (!raw->bytes.empty() && static_cast<int64_t>(raw->bytes.size()) >= *threshold)
          return move_out(t, *raw);
      } else if (const int64_t size = typed_bytes(t); size > 0 && size >= *threshold) {
        const AnyTensor elements = read_tensor(t, source);
        return move_out(
            t, {{static_cast<const std::byte*>(elements.data()), static_cast<std::size_t>(size)}, nullptr});
      }
    }
    reserve(restore_raw_data(t, source));
  });
  if (data) data->set_name();
  if (format == ModelFormat::text) out.write(print_text(model) + "\n");
  else serialize(model, file, out);
  if (data) {
    data->put_in_place();
    // Some systems ignore the case of names. The model's file was not there before: set_name would have found
    // it.
    const fs::path put = folder_of(file) / path_named(data->name());
    if (fs::equivalent(put, file, none)) {
      fs::remove(put, none);
      refuse_name(data->name(), "is the model's own file");
    }
  }
  out.put_in_place();
}

}  // namespace tenon::TENON_ABI::loader
