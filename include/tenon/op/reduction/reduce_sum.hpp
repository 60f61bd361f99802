// ReduceSum: sums along axes.   onnx.ai/onnx/operators/onnx__ReduceSum.html
#pragma once

#include "tenon/op/families/reduction.hpp"

namespace tenon::TENON_ABI::op {

/// Sums over `axes`, by default all, with noop_with_empty_axes none. Integers wrap.
/// op::ReduceSum{}(x, constant<int64_t, 1>) of (2,3) gives (2,1).
using ReduceSum = Reduction<"ReduceSum", kernels::ReduceOp::sum>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ReduceSum)
