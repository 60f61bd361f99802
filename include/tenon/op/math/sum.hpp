// Sum: the sum of any number of tensors.   onnx.ai/onnx/operators/onnx__Sum.html
#pragma once

#include "tenon/op/families/variadic_fold.hpp"

namespace tenon::TENON_ABI::op {

/// sum = data_0[0] + data_0[1] + …, with numpy's broadcasting; before version 8 all tensors have the same
/// extents. op::Sum{}(1.0f, 2.0f, 3.0f) gives 6.
using Sum = VariadicFold<"Sum", "sum", kernels::FoldOp::sum>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Sum)
