// Asin: the inverse sine.   onnx.ai/onnx/operators/onnx__Asin.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = arcsin(input) in [-pi/2, pi/2]; NaN outside of [-1, 1]. op::Asin{}(1.0f) gives 1.5708.
using Asin = RealFunction<"Asin", kernels::UnaryOp::asin, "input", "output", 7, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Asin)
