// Reciprocal: Y = 1 / X.   onnx.ai/onnx/operators/onnx__Reciprocal.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = 1 / X; an infinity of X's sign where X is 0. op::Reciprocal{}(4.0f) gives 0.25.
using Reciprocal = RealFunction<"Reciprocal", kernels::UnaryOp::reciprocal, "X", "Y", 1, 6, 13>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Reciprocal)
