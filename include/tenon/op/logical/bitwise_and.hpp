// BitwiseAnd: C = A & B, bit by bit.   onnx.ai/onnx/operators/onnx__BitwiseAnd.html
#pragma once

#include "tenon/op/families/bitwise.hpp"

namespace tenon::TENON_ABI::op {

/// C = A & B with numpy's broadcasting. op::BitwiseAnd{}(6, 3) gives 2.
using BitwiseAnd = Bitwise<"BitwiseAnd", kernels::BinaryOp::bitwise_and>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::BitwiseAnd)
