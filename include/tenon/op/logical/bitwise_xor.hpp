// BitwiseXor: C = A ^ B, bit by bit.   onnx.ai/onnx/operators/onnx__BitwiseXor.html
#pragma once

#include "tenon/op/families/bitwise.hpp"

namespace tenon::TENON_ABI::op {

/// C = A ^ B with numpy's broadcasting. op::BitwiseXor{}(6, 3) gives 5.
using BitwiseXor = Bitwise<"BitwiseXor", kernels::BinaryOp::bitwise_xor>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::BitwiseXor)
