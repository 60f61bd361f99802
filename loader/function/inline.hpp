// Replaces calls of functions by the functions' nodes: the model's own functions, and those that define
// operators.
#pragma once

#include "loader/onnx.pb.h"
#include "tenon/model.hpp"

namespace tenon::TENON_ABI::loader {

/// Like tenon::inline_functions; an error leaves the message in an unspecified state.
void inline_functions(onnx::ModelProto& model, const InlineOptions& options = {});

}  // namespace tenon::TENON_ABI::loader
