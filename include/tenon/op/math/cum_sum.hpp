// CumSum: running sums along an axis.   onnx.ai/onnx/operators/onnx__CumSum.html
#pragma once

#include "tenon/op/families/cumulation.hpp"

namespace tenon::TENON_ABI::op {

/// Each element of y is the sum of the elements of x up to its own along `axis` or, with `exclusive`, before
/// its own; with `reverse` sums begin at the end. Integers wrap: op::CumSum{.reverse = 1}(x,
/// constant<int64_t, 0>).
using CumSum = Cumulation<"CumSum", kernels::CumulateOp::sum, 11, 14>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::CumSum)
