// CumProd: running products along an axis.   onnx.ai/onnx/operators/onnx__CumProd.html
#pragma once

#include "tenon/op/families/cumulation.hpp"

namespace tenon::TENON_ABI::op {

/// Each element of y is the product of the elements of x up to its own along `axis` or, with `exclusive`,
/// before its own; with `reverse` products begin at the end. Integers wrap. op::CumProd{}(x,
/// constant<int64_t, 0>) of (1,2,3) gives (1,2,6).
using CumProd = Cumulation<"CumProd", kernels::CumulateOp::product, 26>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::CumProd)
