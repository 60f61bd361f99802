// Elu: Y = X, below 0 alpha (exp(X) - 1).   onnx.ai/onnx/operators/onnx__Elu.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = X < 0 ? alpha (exp(X) - 1) : X. op::Elu{.alpha = 2}(-1.0f) gives -1.26424.
using Elu = AlphaFunction<"Elu", kernels::UnaryOp::elu, 1.0, 1, 6, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Elu)
