// ReduceL2: Euclidean norms along axes.   onnx.ai/onnx/operators/onnx__ReduceL2.html
#pragma once

#include "tenon/op/families/reduction.hpp"

namespace tenon::TENON_ABI::op {

/// Square roots of sums of squares over `axes`, by default all, with noop_with_empty_axes none: the
/// magnitudes. Roots of integers are truncated. op::ReduceL2{}(x, constant<int64_t, 1>) of (2,3) gives (2,1).
using ReduceL2 = Reduction<"ReduceL2", kernels::ReduceOp::l2>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ReduceL2)
