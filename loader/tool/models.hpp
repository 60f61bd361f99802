// Models that commands read and write whole.
#pragma once

#include "loader/file.hpp"
#include "loader/tool/suite.hpp"
#include "loader/tool/text.hpp"

namespace tenon::tool {

inline onnx::ModelProto read_model(const std::filesystem::path& file) {
  refuse_other_formats(file);
  return read_message<onnx::ModelProto>(file);
}
/// A model without the raw data of its large tensors, which stand as external data of no place: what commands
/// that describe models need of a file of any size.
onnx::ModelProto read_outline(const std::filesystem::path& file);
/// The bytes of the file that the model is to be. Error{not_supported} beyond 2 GB.
inline std::string serialized(const std::filesystem::path& file, const onnx::ModelProto& model) {
  std::string bytes;
  if (!model.SerializeToString(&bytes))
    throw Error(ErrorCode::not_supported, file.string(), "files of 2 GB and more are not written");
  return bytes;
}
inline void write_model(const std::filesystem::path& file, const onnx::ModelProto& model) {
  refuse_other_formats(file);
  loader::write_file(file, serialized(file, model));
}

}  // namespace tenon::tool
