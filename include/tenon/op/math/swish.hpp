// Swish: Y = X sigmoid(alpha X).   onnx.ai/onnx/operators/onnx__Swish.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = X / (1 + exp(-alpha X)). op::Swish{}(1.0f) gives 0.731059.
using Swish = AlphaFunction<"Swish", kernels::UnaryOp::swish, 1.0, 24>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Swish)
