// ONNX's textual syntax (github.com/onnx/onnx/blob/main/docs/Syntax.md), read into messages.
#pragma once

#include <string_view>

#include "loader/onnx.pb.h"
#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// The message that a whole text says: an onnx::ModelProto, GraphProto, FunctionProto or NodeProto.
///
///     parse_text<onnx::NodeProto>("y = Cast <to = 1> (x)")
///
/// Error{invalid_model}, whose place is the line and the column (bytes from 1), for text that is none, for
/// numbers that their types cannot hold, and for bodies and types within each other that are nested deeper
/// than files may be. Whether the model makes sense is not asked.
template <class Message>
Message parse_text(std::string_view text);

}  // namespace tenon::TENON_ABI::loader
