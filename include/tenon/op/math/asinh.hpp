// Asinh: the inverse hyperbolic sine.   onnx.ai/onnx/operators/onnx__Asinh.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = arsinh(input). op::Asinh{}(1.0f) gives 0.881374.
using Asinh = RealFunction<"Asinh", kernels::UnaryOp::asinh, "input", "output", 9, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Asinh)
