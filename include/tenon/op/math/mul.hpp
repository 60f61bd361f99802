// Mul: C = A * B.   onnx.ai/onnx/operators/onnx__Mul.html
#pragma once

#include "tenon/op/families/arithmetic.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"

namespace tenon::TENON_ABI::op {

/// C = A * B with numpy's broadcasting; integers wrap. op::Mul{}(1.5f, 2.0f) gives 3.
using Mul = Arithmetic<"Mul", kernels::BinaryOp::mul>;

using Mul_1 = BeforeBroadcasting<Mul, Unsqueeze, 1, 6>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Mul, tenon::op::Mul_1)
