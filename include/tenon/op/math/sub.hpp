// Sub: C = A - B.   onnx.ai/onnx/operators/onnx__Sub.html
#pragma once

#include "tenon/op/families/arithmetic.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"

namespace tenon::TENON_ABI::op {

/// C = A - B with numpy's broadcasting; integers wrap. op::Sub{}(1.5f, 2.0f) gives -0.5.
using Sub = Arithmetic<"Sub", kernels::BinaryOp::sub>;

using Sub_1 = BeforeBroadcasting<Sub, Unsqueeze, 1, 6>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Sub, tenon::op::Sub_1)
