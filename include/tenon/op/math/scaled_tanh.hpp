// ScaledTanh: output = alpha tanh(beta input); experimental, withdrawn with opset 10.
// github.com/onnx/onnx/blob/v1.4.1/docs/Operators.md#experimental-scaledtanh
#pragma once

#include "tenon/op/families/scaled_function.hpp"

namespace tenon::TENON_ABI::op {

/// output = alpha tanh(beta input). op::ScaledTanh{.alpha = 2}(1.0f) gives 1.523188.
using ScaledTanh = ScaledFunction<"ScaledTanh", kernels::UnaryOp::tanh, "input", "output">;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ScaledTanh)
