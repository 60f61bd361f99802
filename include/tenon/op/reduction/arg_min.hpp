// ArgMin: where along an axis the least elements are.   onnx.ai/onnx/operators/onnx__ArgMin.html
#pragma once

#include "tenon/op/families/reduction.hpp"

namespace tenon::TENON_ABI::op {

/// The index along `axis` of the least element: the first of equals, or the last with select_last_index.
/// NaN counts as less than all else. op::ArgMin{.axis = 0}(x) of (1,3,2) gives (0).
using ArgMin = ArgReduction<"ArgMin", false>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ArgMin)
