// ReduceL1: sums of magnitudes along axes.   onnx.ai/onnx/operators/onnx__ReduceL1.html
#pragma once

#include "tenon/op/families/reduction.hpp"

namespace tenon::TENON_ABI::op {

/// Sums of magnitudes over `axes`, by default all, with noop_with_empty_axes none: the magnitudes themselves.
/// Integers wrap. op::ReduceL1{}(x, constant<int64_t, 1>) of (2,3) gives (2,1).
using ReduceL1 = Reduction<"ReduceL1", kernels::ReduceOp::l1>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ReduceL1)
