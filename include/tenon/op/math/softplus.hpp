// Softplus: Y = ln(1 + exp(X)).   onnx.ai/onnx/operators/onnx__Softplus.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = ln(1 + exp(X)), which does not overflow before X does. op::Softplus{}(0.0f) gives 0.693147.
using Softplus = RealFunction<"Softplus", kernels::UnaryOp::softplus, "X", "Y", 1, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Softplus)
