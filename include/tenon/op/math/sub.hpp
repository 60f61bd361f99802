// Sub: C = A - B.   onnx.ai/onnx/operators/onnx__Sub.html
#pragma once

#include "tenon/op/arithmetic.hpp"

namespace tenon::op {

/// C = A - B with numpy's broadcasting; integers wrap.
using Sub = Arithmetic<"Sub", kernels::BinaryOp::sub>;

/// B is stretched over A only where `broadcast` says so, along A's axes from `axis` on.
using Sub_1 = Arithmetic_1<"Sub", kernels::BinaryOp::sub>;

}  // namespace tenon::op
