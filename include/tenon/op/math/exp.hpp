// Exp: output = e to the power of input.   onnx.ai/onnx/operators/onnx__Exp.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = exp(input). op::Exp{}(1.0f) gives 2.71828.
using Exp = RealFunction<"Exp", kernels::UnaryOp::exp, "input", "output", 1, 6, 13>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Exp)
