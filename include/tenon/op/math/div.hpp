// Div: C = A / B.   onnx.ai/onnx/operators/onnx__Div.html
#pragma once

#include "tenon/op/families/arithmetic.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"

namespace tenon::TENON_ABI::op {

/// C = A / B with numpy's broadcasting; integers are truncated towards zero. Error{invalid_argument} when an
/// integer is divided by zero. op::Div{}(-7, 2) gives -3.
using Div = Arithmetic<"Div", kernels::BinaryOp::div>;

using Div_1 = BeforeBroadcasting<Div, Unsqueeze, 1, 6>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Div, tenon::op::Div_1)
