// Tanh: the hyperbolic tangent.   onnx.ai/onnx/operators/onnx__Tanh.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = tanh(input). op::Tanh{}(1.0f) gives 0.761594.
using Tanh = RealFunction<"Tanh", kernels::UnaryOp::tanh, "input", "output", 1, 6, 13>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Tanh)
