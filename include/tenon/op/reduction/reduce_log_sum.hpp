// ReduceLogSum: logarithms of sums along axes.   onnx.ai/onnx/operators/onnx__ReduceLogSum.html
#pragma once

#include "tenon/op/families/reduction.hpp"

namespace tenon::TENON_ABI::op {

/// log of sums over `axes`, by default all, with noop_with_empty_axes none: of the elements themselves. Of
/// nothing it is -infinity. Integers are truncated, and clamped to their type's range. op::ReduceLogSum{}(x,
/// constant<int64_t, 1>) of (2,3) gives (2,1).
using ReduceLogSum = Reduction<"ReduceLogSum", kernels::ReduceOp::log_sum>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ReduceLogSum)
