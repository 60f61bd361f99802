// Shape inference on model files, which may hold what cannot run here.
#pragma once

#include "loader/onnx.pb.h"
#include "tenon/model.hpp"

namespace tenon::loader {

/// As tenon::infer_shapes.
void infer_shapes(onnx::ModelProto& model, InferOptions options = {});
/// The same. The value infos of functions, which may be called with anything, become the types and extents on
/// which all their calls in the model agree.
void infer_functions(onnx::ModelProto& model, InferOptions options = {});

}  // namespace tenon::loader
