// HardSwish: Y = X max(0, min(1, X / 6 + 1 / 2)).   onnx.ai/onnx/operators/onnx__HardSwish.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = X max(0, min(1, X / 6 + 1 / 2)). op::HardSwish{}(3.0f) gives 3.
using HardSwish = RealFunction<"HardSwish", kernels::UnaryOp::hard_swish, "X", "Y", 14, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::HardSwish)
