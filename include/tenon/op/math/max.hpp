// Max: the greatest elements of any number of tensors.   onnx.ai/onnx/operators/onnx__Max.html
#pragma once

#include "tenon/op/families/variadic_fold.hpp"

namespace tenon::TENON_ABI::op {

/// The greatest of data_0[0], data_0[1], …, element by element, NaN where one is, with numpy's broadcasting;
/// before version 8 all tensors have the same extents. op::Max{}(1, 3, 2) gives 3.
using Max = VariadicFold<"Max", "max", kernels::FoldOp::max>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Max)
