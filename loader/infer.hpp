// Shape inference on model files, which may hold what cannot run here.
#pragma once

#include "loader/onnx.pb.h"
#include "tenon/model.hpp"

namespace tenon::loader {

/// As tenon::infer_shapes.
void infer_shapes(onnx::ModelProto& model, InferOptions options = {});

}  // namespace tenon::loader
