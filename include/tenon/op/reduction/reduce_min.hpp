// ReduceMin: least elements along axes.   onnx.ai/onnx/operators/onnx__ReduceMin.html
#pragma once

#include "tenon/op/families/reduction.hpp"

namespace tenon::TENON_ABI::op {

/// The least element over `axes`, by default all, with noop_with_empty_axes none. NaN where an element is; of
/// nothing, the greatest value of the type (floats: infinity). op::ReduceMin{}(x, constant<int64_t, 1>) of
/// (2,3) gives (2,1).
using ReduceMin = Reduction<"ReduceMin", kernels::ReduceOp::min>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ReduceMin)
