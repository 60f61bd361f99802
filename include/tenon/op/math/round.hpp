// Round: Y = the integer nearest to X.   onnx.ai/onnx/operators/onnx__Round.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = the integer nearest to X, the even one where two are. op::Round{}(2.5f) gives 2.
using Round = RealFunction<"Round", kernels::UnaryOp::round, "X", "Y", 11, 22>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Round)
