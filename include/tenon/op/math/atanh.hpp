// Atanh: the inverse hyperbolic tangent.   onnx.ai/onnx/operators/onnx__Atanh.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = artanh(input); infinities at -1 and 1, NaN beyond. op::Atanh{}(0.5f) gives 0.549306.
using Atanh = RealFunction<"Atanh", kernels::UnaryOp::atanh, "input", "output", 9, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Atanh)
