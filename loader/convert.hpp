// Conversion of models between operator sets of ai.onnx, and between IR versions.
#pragma once

#include "loader/onnx.pb.h"

namespace tenon::loader {

/// As tenon::convert_opset.
void convert_opset(onnx::ModelProto& model, int opset);

/// The oldest IR version in which models import operator sets.
inline constexpr int64_t oldest_ir_version = 3;
/// As tenon::convert_ir_version.
void convert_ir_version(onnx::ModelProto& model, int64_t ir_version);

}  // namespace tenon::loader
