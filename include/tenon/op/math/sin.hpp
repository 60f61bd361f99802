// Sin: the sine.   onnx.ai/onnx/operators/onnx__Sin.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = sin(input), in radians; NaN of infinities. op::Sin{}(1.0f) gives 0.841471.
using Sin = RealFunction<"Sin", kernels::UnaryOp::sin, "input", "output", 7, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Sin)
