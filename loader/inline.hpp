// Calls of functions, the model's own and those that define operators, replaced by the functions' nodes.
#pragma once

#include "loader/onnx.pb.h"
#include "tenon/model.hpp"

namespace tenon::loader {

/// As tenon::inline_functions; after an error the message is left in parts.
void inline_functions(onnx::ModelProto& model, const InlineOptions& options = {});

}  // namespace tenon::loader
