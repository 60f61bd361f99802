// Mish: Y = X tanh(ln(1 + exp(X))).   onnx.ai/onnx/operators/onnx__Mish.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = X tanh(ln(1 + exp(X))). op::Mish{}(1.0f) gives 0.865098.
using Mish = RealFunction<"Mish", kernels::UnaryOp::mish, "X", "Y", 18, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Mish)
