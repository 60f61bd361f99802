// Add: C = A + B.   onnx.ai/onnx/operators/onnx__Add.html
#pragma once

#include "tenon/op/arithmetic.hpp"

namespace tenon::op {

/// C = A + B with numpy's broadcasting; integers wrap.
using Add = Arithmetic<"Add", kernels::BinaryOp::add>;

/// B is stretched over A only where `broadcast` says so, along A's axes from `axis` on.
using Add_1 = Arithmetic_1<"Add", kernels::BinaryOp::add>;

}  // namespace tenon::op
