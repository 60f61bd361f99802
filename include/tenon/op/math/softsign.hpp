// Softsign: output = input / (1 + |input|).   onnx.ai/onnx/operators/onnx__Softsign.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = input / (1 + |input|); NaN of infinities. op::Softsign{}(1.0f) gives 0.5.
using Softsign = RealFunction<"Softsign", kernels::UnaryOp::softsign, "input", "output", 1, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Softsign)
