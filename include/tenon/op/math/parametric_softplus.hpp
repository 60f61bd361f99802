// ParametricSoftplus: Y = alpha ln(1 + exp(beta X)); experimental, withdrawn with opset 10.
// github.com/onnx/onnx/blob/v1.4.1/docs/Operators.md#experimental-parametricsoftplus
#pragma once

#include "tenon/op/families/scaled_function.hpp"

namespace tenon::TENON_ABI::op {

/// Y = alpha ln(1 + exp(beta X)), which does not overflow before Y does. op::ParametricSoftplus{.alpha =
/// 2}(0.0f) gives 1.386294.
using ParametricSoftplus = ScaledFunction<"ParametricSoftplus", kernels::UnaryOp::softplus, "X", "Y">;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ParametricSoftplus)
