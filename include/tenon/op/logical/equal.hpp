// Equal: C = A == B.   onnx.ai/onnx/operators/onnx__Equal.html
#pragma once

#include "tenon/op/families/before_broadcasting.hpp"
#include "tenon/op/families/compare.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"

namespace tenon::TENON_ABI::op {

/// C = A == B with numpy's broadcasting; NaN equals nothing. op::Equal{}(2, 2) gives true.
using Equal = Comparison<"Equal", kernels::CompareOp::equal>;

using Equal_1 = BeforeBroadcasting<Equal, Unsqueeze, 1>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Equal, tenon::op::Equal_1)
