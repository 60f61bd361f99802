// ReduceMean: means along axes.   onnx.ai/onnx/operators/onnx__ReduceMean.html
#pragma once

#include "tenon/op/families/reduction.hpp"

namespace tenon::TENON_ABI::op {

/// Means over `axes`, by default all, with noop_with_empty_axes none. Means of integers are truncated; the
/// mean of nothing is NaN, for integers 0. op::ReduceMean{.keepdims = 0}(x, constant<int64_t, 1>) of (2,3)
/// gives (2).
using ReduceMean = Reduction<"ReduceMean", kernels::ReduceOp::mean>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ReduceMean)
