// Atan: the inverse tangent.   onnx.ai/onnx/operators/onnx__Atan.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = arctan(input) in [-pi/2, pi/2]. op::Atan{}(1.0f) gives 0.785398.
using Atan = RealFunction<"Atan", kernels::UnaryOp::atan, "input", "output", 7, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Atan)
