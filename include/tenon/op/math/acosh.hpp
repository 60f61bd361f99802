// Acosh: the inverse hyperbolic cosine.   onnx.ai/onnx/operators/onnx__Acosh.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = arcosh(input), at least 0; NaN below 1. op::Acosh{}(2.0f) gives 1.31696.
using Acosh = RealFunction<"Acosh", kernels::UnaryOp::acosh, "input", "output", 9, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Acosh)
