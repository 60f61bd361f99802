// Div: C = A / B.   onnx.ai/onnx/operators/onnx__Div.html
#pragma once

#include "tenon/op/families/arithmetic.hpp"

namespace tenon::op {

/// C = A / B with numpy's broadcasting; integers are cut towards zero.
/// Error{invalid_argument} when an integer is divided by zero.
using Div = Arithmetic<"Div", kernels::BinaryOp::div>;

using Div_1 = BeforeBroadcasting<Div, 1, 6>;

}  // namespace tenon::op
