// Sqrt: Y = the square root of X.   onnx.ai/onnx/operators/onnx__Sqrt.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = sqrt(X); NaN below 0. op::Sqrt{}(9.0f) gives 3.
using Sqrt = RealFunction<"Sqrt", kernels::UnaryOp::sqrt, "X", "Y", 1, 6, 13>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Sqrt)
