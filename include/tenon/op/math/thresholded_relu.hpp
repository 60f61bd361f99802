// ThresholdedRelu: Y = X above alpha, else 0.   onnx.ai/onnx/operators/onnx__ThresholdedRelu.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = X > alpha ? X : 0, so 0 for NaN. ONNX had it as an experimental operator before version 10, and
/// removed that from its registry; files of that time use it. op::ThresholdedRelu{.alpha = 2}(3.0f) gives 3.
using ThresholdedRelu = AlphaFunction<"ThresholdedRelu", kernels::UnaryOp::thresholded_relu, 1.0, 1, 10, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ThresholdedRelu)
