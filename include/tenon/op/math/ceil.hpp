// Ceil: Y = the least integer that is at least X.   onnx.ai/onnx/operators/onnx__Ceil.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = ceil(X). op::Ceil{}(1.25f) gives 2.
using Ceil = RealFunction<"Ceil", kernels::UnaryOp::ceil, "X", "Y", 1, 6, 13>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Ceil)
