// Mean: the mean of any number of tensors.   onnx.ai/onnx/operators/onnx__Mean.html
#pragma once

#include "tenon/op/families/variadic_fold.hpp"

namespace tenon::TENON_ABI::op {

/// mean = (data_0[0] + data_0[1] + …) / their number, with numpy's broadcasting; before version 8 all tensors
/// have the same extents. op::Mean{}(1.0f, 2.0f, 6.0f) gives 3.
using Mean = VariadicFold<"Mean", "mean", kernels::FoldOp::mean>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Mean)
