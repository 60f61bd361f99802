// ONNX's textual syntax (github.com/onnx/onnx/blob/main/docs/Syntax.md), read into messages.
#pragma once

#include <string_view>

#include "loader/onnx.pb.h"
#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// The message that a text states: an onnx::ModelProto, GraphProto, FunctionProto or NodeProto.
///
///     parse_text<onnx::NodeProto>("y = Cast <to = 1> (x)")
///
/// Error{invalid_model}, with line and column (bytes from 1) as its place, for invalid text, for numbers that
/// their types cannot hold, and for bodies and types that are nested deeper than files may be. Whether the
/// model makes sense is not checked.
template <class Message>
Message parse_text(std::string_view text);

}  // namespace tenon::TENON_ABI::loader
