// BitwiseOr: C = A | B, bit by bit.   onnx.ai/onnx/operators/onnx__BitwiseOr.html
#pragma once

#include "tenon/op/families/bitwise.hpp"

namespace tenon::TENON_ABI::op {

/// C = A | B with numpy's broadcasting. op::BitwiseOr{}(6, 3) gives 7.
using BitwiseOr = Bitwise<"BitwiseOr", kernels::BinaryOp::bitwise_or>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::BitwiseOr)
