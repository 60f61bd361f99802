// Log: output = the natural logarithm of input.   onnx.ai/onnx/operators/onnx__Log.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = ln(input); -Inf at 0, NaN below. op::Log{}(1.0f) gives 0.
using Log = RealFunction<"Log", kernels::UnaryOp::log, "input", "output", 1, 6, 13>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Log)
