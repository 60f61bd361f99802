// Sinh: the hyperbolic sine.   onnx.ai/onnx/operators/onnx__Sinh.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = sinh(input). op::Sinh{}(1.0f) gives 1.1752.
using Sinh = RealFunction<"Sinh", kernels::UnaryOp::sinh, "input", "output", 9, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Sinh)
