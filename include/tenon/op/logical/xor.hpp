// Xor: C = A != B, on bools.   onnx.ai/onnx/operators/onnx__Xor.html
#pragma once

#include "tenon/op/families/logical.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"

namespace tenon::TENON_ABI::op {

/// C is whether one of A and B is true, but not both, with numpy's broadcasting. op::Xor{}(true, true) gives
/// false.
using Xor = Logical<"Xor", kernels::LogicOp::logical_xor>;

using Xor_1 = BeforeBroadcasting<Xor, Unsqueeze, 1>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Xor, tenon::op::Xor_1)
