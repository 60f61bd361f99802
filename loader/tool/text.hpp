// Messages by name, for the commands for ONNX's textual syntax.
#pragma once

#include "loader/tool/suite.hpp"
#include "tenon/base/error.hpp"

namespace tenon::TENON_ABI::tool {

std::string read_text(const std::filesystem::path& file);
/// A model in ONNX's textual syntax. Error{invalid_model} with line and column.
onnx::ModelProto parse_file(const std::filesystem::path& file);
/// The first part in which two texts differ.
std::string difference(std::string_view ours, std::string_view recorded);

/// Calls f.template operator()<Message>() for the kind of message in the name of a recorded call:
/// "parse_graph", "graph_to_text".
template <class F>
auto with_message_of(std::string_view api, F f) {
  const auto names = [&](std::string_view kind) { return api.find(kind) != api.npos; };
  if (names("model")) return f.template operator()<onnx::ModelProto>();
  if (names("graph")) return f.template operator()<onnx::GraphProto>();
  if (names("function")) return f.template operator()<onnx::FunctionProto>();
  if (names("node")) return f.template operator()<onnx::NodeProto>();
  throw Error(ErrorCode::not_supported, std::string(api), "no such call is known");
}

}  // namespace tenon::TENON_ABI::tool
