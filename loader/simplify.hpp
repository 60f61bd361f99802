// Models with fewer nodes: what is the same in every run is computed once.
#pragma once

#include "loader/onnx.pb.h"

namespace tenon::loader {

struct SimplifyOptions {
  /// The largest constant, in bytes, that a node becomes. Nodes that make constants smaller become constants
  /// of any size.
  int64_t max_bytes = 1 << 20;
};

/// Replaces nodes of ONNX's operators by constants where all that they read is constant, or where inference
/// tells their results (the extents of a tensor, and arithmetic on them), and removes nodes, initializers and
/// value infos on which no output depends. The model stays at its opset and IR version; interface, names,
/// metadata and functions stay too. Initializers that are inputs are values that runs may replace, and no
/// constants. Nodes that draw random numbers, run bodies or call functions stay; bodies are simplified.
///
///     simplify(model);
///
/// Extents are taken as the inputs declare them. An input's unknown extents can be set first
/// (Model::set_extents). Error{invalid_model} where the opsets that the model imports are none.
void simplify(onnx::ModelProto& model, const SimplifyOptions& options = {});

}  // namespace tenon::loader
