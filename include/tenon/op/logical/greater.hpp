// Greater: C = A > B.   onnx.ai/onnx/operators/onnx__Greater.html
#pragma once

#include "tenon/op/families/before_broadcasting.hpp"
#include "tenon/op/families/compare.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"

namespace tenon::TENON_ABI::op {

/// C = A > B with numpy's broadcasting; NaN is neither less nor greater. op::Greater{}(2, 1) gives true.
using Greater = Comparison<"Greater", kernels::CompareOp::greater>;

using Greater_1 = BeforeBroadcasting<Greater, Unsqueeze, 1>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Greater, tenon::op::Greater_1)
