// LessOrEqual: C = A <= B.   onnx.ai/onnx/operators/onnx__LessOrEqual.html
#pragma once

#include "tenon/op/families/compare.hpp"

namespace tenon::TENON_ABI::op {

/// C = A <= B with numpy's broadcasting; false where one is NaN. op::LessOrEqual{}(2, 2) gives true.
using LessOrEqual = Comparison<"LessOrEqual", kernels::CompareOp::less_equal>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::LessOrEqual)
