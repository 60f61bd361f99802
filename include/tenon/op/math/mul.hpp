// Mul: C = A * B.   onnx.ai/onnx/operators/onnx__Mul.html
#pragma once

#include "tenon/op/arithmetic.hpp"

namespace tenon::op {

/// C = A * B with numpy's broadcasting; integers wrap.
using Mul = Arithmetic<"Mul", kernels::BinaryOp::mul>;

/// B is stretched over A only where `broadcast` says so, along A's axes from `axis` on.
using Mul_1 = Arithmetic_1<"Mul", kernels::BinaryOp::mul>;

}  // namespace tenon::op
