// Calls of functions replaced by the functions' nodes: the model's own functions, and the ones that define
// operators.
#pragma once

#include "loader/onnx.pb.h"
#include "tenon/model.hpp"

namespace tenon::TENON_ABI::loader {

/// As tenon::inline_functions; after an error the message is left in parts.
void inline_functions(onnx::ModelProto& model, const InlineOptions& options = {});

}  // namespace tenon::TENON_ABI::loader
