// ReduceLogSumExp: log(sum(exp)) along axes.   onnx.ai/onnx/operators/onnx__ReduceLogSumExp.html
#pragma once

#include "tenon/op/families/reduction.hpp"

namespace tenon::TENON_ABI::op {

/// log of the sum of exp over `axes`, by default all, with noop_with_empty_axes none: the elements
/// themselves. Stable: the greatest element is subtracted first. Of nothing it is -infinity. Integers are
/// truncated, and clamped to their type's range. op::ReduceLogSumExp{}(x, constant<int64_t, 1>) of (2,3)
/// gives (2,1).
using ReduceLogSumExp = Reduction<"ReduceLogSumExp", kernels::ReduceOp::log_sum_exp>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ReduceLogSumExp)
