// Sigmoid: Y = 1 / (1 + exp(-X)).   onnx.ai/onnx/operators/onnx__Sigmoid.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = 1 / (1 + exp(-X)). op::Sigmoid{}(0.0f) gives 0.5.
using Sigmoid = RealFunction<"Sigmoid", kernels::UnaryOp::sigmoid, "X", "Y", 1, 6, 13>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Sigmoid)
