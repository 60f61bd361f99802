// Shape inference on model files, which may hold what cannot run here.
#pragma once

#include "loader/onnx.pb.h"

namespace tenon::loader {

struct InferOptions {
  bool strict = false;       ///< errors, instead of nodes that tell nothing
  bool check_types = false;  ///< also operands of types that the operator does not take are errors
};

/// Writes the types and extents of all values that operators' rules can tell into the model: of graph outputs
/// and body inputs where they are declared, of all others as value infos. Nodes of unknown operators tell
/// nothing.
///
/// Error{invalid_model} when, with `strict`, a rule forbids a node's operands or contradicts what the model
/// declares. Operands that only runs cannot take (Infer::for_runs) are no error, as they are none of ONNX's
/// inference. Error{invalid_model}, strict or not, for functions that multiply beyond all measure.
void infer_shapes(onnx::ModelProto& model, InferOptions options = {});

}  // namespace tenon::loader
