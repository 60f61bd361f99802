// Div: C = A / B.   onnx.ai/onnx/operators/onnx__Div.html
#pragma once

#include "tenon/op/arithmetic.hpp"

namespace tenon::op {

/// C = A / B with numpy's broadcasting; integers are cut towards zero.
/// Error{invalid_argument} when an integer is divided by zero.
using Div = Arithmetic<"Div", kernels::BinaryOp::div>;

/// B is stretched over A only where `broadcast` says so, along A's axes from `axis` on.
using Div_1 = Arithmetic_1<"Div", kernels::BinaryOp::div>;

}  // namespace tenon::op
