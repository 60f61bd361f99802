// ReduceMax: greatest elements along axes.   onnx.ai/onnx/operators/onnx__ReduceMax.html
#pragma once

#include "tenon/op/families/reduction.hpp"

namespace tenon::TENON_ABI::op {

/// The greatest element over `axes`, by default all, with noop_with_empty_axes none. NaN where an element is;
/// of nothing, the least value of the type (floats: -infinity). op::ReduceMax{}(x, constant<int64_t, 1>) of
/// (2,3) gives (2,1).
using ReduceMax = Reduction<"ReduceMax", kernels::ReduceOp::max>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ReduceMax)
