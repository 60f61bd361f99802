// Tan: the tangent.   onnx.ai/onnx/operators/onnx__Tan.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = tan(input), in radians; NaN of infinities. op::Tan{}(1.0f) gives 1.55741.
using Tan = RealFunction<"Tan", kernels::UnaryOp::tan, "input", "output", 7, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Tan)
