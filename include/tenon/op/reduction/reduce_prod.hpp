// ReduceProd: products along axes.   onnx.ai/onnx/operators/onnx__ReduceProd.html
#pragma once

#include "tenon/op/families/reduction.hpp"

namespace tenon::TENON_ABI::op {

/// Products over `axes`, by default all, with noop_with_empty_axes none. Integers wrap; the product of
/// nothing is 1. op::ReduceProd{}(x, constant<int64_t, 1>) of (2,3) gives (2,1).
using ReduceProd = Reduction<"ReduceProd", kernels::ReduceOp::prod>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ReduceProd)
