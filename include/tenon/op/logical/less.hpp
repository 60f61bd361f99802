// Less: C = A < B.   onnx.ai/onnx/operators/onnx__Less.html
#pragma once

#include "tenon/op/families/before_broadcasting.hpp"
#include "tenon/op/families/compare.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"

namespace tenon::TENON_ABI::op {

/// C = A < B with numpy's broadcasting; NaN is neither less nor greater. op::Less{}(2, 1) gives false.
using Less = Comparison<"Less", kernels::CompareOp::less>;

using Less_1 = BeforeBroadcasting<Less, Unsqueeze, 1>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Less, tenon::op::Less_1)
