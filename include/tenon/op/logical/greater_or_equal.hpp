// GreaterOrEqual: C = A >= B.   onnx.ai/onnx/operators/onnx__GreaterOrEqual.html
#pragma once

#include "tenon/op/families/compare.hpp"

namespace tenon::TENON_ABI::op {

/// C = A >= B with numpy's broadcasting; false where one is NaN. op::GreaterOrEqual{}(2, 2) gives true.
using GreaterOrEqual = Comparison<"GreaterOrEqual", kernels::CompareOp::greater_equal>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::GreaterOrEqual)
