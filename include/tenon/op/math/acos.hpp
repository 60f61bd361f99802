// Acos: the inverse cosine.   onnx.ai/onnx/operators/onnx__Acos.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = arccos(input) in [0, pi]; NaN outside of [-1, 1]. op::Acos{}(0.0f) gives 1.5708.
using Acos = RealFunction<"Acos", kernels::UnaryOp::acos, "input", "output", 7, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Acos)
