// Shape inference on model files, which may hold what cannot run here.
#pragma once

#include "loader/onnx.pb.h"

namespace tenon::loader {

/// Writes the types and extents of all values that operators' rules can tell into the model: of graph outputs
/// and body inputs where they are declared, of all others as value infos. Nodes of unknown operators tell
/// nothing.
///
/// Error{invalid_model} when a rule forbids a node's operands or contradicts what the model declares; with
/// `strict` false such a node tells nothing.
void infer_shapes(onnx::ModelProto& model, bool strict);

}  // namespace tenon::loader
