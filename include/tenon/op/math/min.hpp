// Min: the least elements of any number of tensors.   onnx.ai/onnx/operators/onnx__Min.html
#pragma once

#include "tenon/op/families/variadic_fold.hpp"

namespace tenon::TENON_ABI::op {

/// The least of data_0[0], data_0[1], …, element by element, NaN where one is, with numpy's broadcasting;
/// before version 8 all tensors have the same extents. op::Min{}(1, 3, 2) gives 1.
using Min = VariadicFold<"Min", "min", kernels::FoldOp::min>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Min)
