// And: C = A && B.   onnx.ai/onnx/operators/onnx__And.html
#pragma once

#include "tenon/op/families/logical.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"

namespace tenon::TENON_ABI::op {

/// C = A && B with numpy's broadcasting. op::And{}(true, false) gives false.
using And = Logical<"And", kernels::LogicOp::logical_and>;

using And_1 = BeforeBroadcasting<And, Unsqueeze, 1>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::And, tenon::op::And_1)
