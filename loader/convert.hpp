// Conversion of models between operator sets of ai.onnx.
#pragma once

#include "loader/onnx.pb.h"

namespace tenon::loader {

/// As tenon::convert_opset.
void convert_opset(onnx::ModelProto& model, int opset);

}  // namespace tenon::loader
