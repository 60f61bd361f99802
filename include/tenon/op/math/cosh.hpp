// Cosh: the hyperbolic cosine.   onnx.ai/onnx/operators/onnx__Cosh.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = cosh(input). op::Cosh{}(1.0f) gives 1.54308.
using Cosh = RealFunction<"Cosh", kernels::UnaryOp::cosh, "input", "output", 9, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Cosh)
