// LeakyRelu: Y = X, below 0 scaled by alpha.   onnx.ai/onnx/operators/onnx__LeakyRelu.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = X < 0 ? alpha X : X. op::LeakyRelu{.alpha = 0.5f}(-3.0f) gives -1.5.
using LeakyRelu = AlphaFunction<"LeakyRelu", kernels::UnaryOp::leaky_relu, 0.01, 1, 6, 16>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::LeakyRelu)
