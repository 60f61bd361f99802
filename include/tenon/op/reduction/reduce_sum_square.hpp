// ReduceSumSquare: sums of squares along axes.   onnx.ai/onnx/operators/onnx__ReduceSumSquare.html
#pragma once

#include "tenon/op/families/reduction.hpp"

namespace tenon::TENON_ABI::op {

/// Sums of squares over `axes`, by default all, with noop_with_empty_axes none: the squares themselves.
/// Integers wrap. op::ReduceSumSquare{}(x, constant<int64_t, 1>) of (2,3) gives (2,1).
using ReduceSumSquare = Reduction<"ReduceSumSquare", kernels::ReduceOp::sum_square>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ReduceSumSquare)
