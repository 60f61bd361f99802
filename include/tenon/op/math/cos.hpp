// Cos: the cosine.   onnx.ai/onnx/operators/onnx__Cos.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = cos(input), in radians; NaN of infinities. op::Cos{}(1.0f) gives 0.540302.
using Cos = RealFunction<"Cos", kernels::UnaryOp::cos, "input", "output", 7, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Cos)
