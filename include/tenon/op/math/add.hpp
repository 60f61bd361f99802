// Add: C = A + B.   onnx.ai/onnx/operators/onnx__Add.html
#pragma once

#include "tenon/op/families/arithmetic.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"

namespace tenon::TENON_ABI::op {

/// C = A + B with numpy's broadcasting; integers wrap. op::Add{}(1.5f, 2.0f) gives 3.5.
using Add = Arithmetic<"Add", kernels::BinaryOp::add>;

using Add_1 = BeforeBroadcasting<Add, Unsqueeze, 1, 6>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Add, tenon::op::Add_1)
