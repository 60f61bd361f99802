// Or: C = A || B.   onnx.ai/onnx/operators/onnx__Or.html
#pragma once

#include "tenon/op/families/logical.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"

namespace tenon::TENON_ABI::op {

/// C = A || B with numpy's broadcasting. op::Or{}(true, false) gives true.
using Or = Logical<"Or", kernels::LogicOp::logical_or>;

using Or_1 = BeforeBroadcasting<Or, Unsqueeze, 1>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Or, tenon::op::Or_1)
