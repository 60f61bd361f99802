// ArgMax: where along an axis the greatest elements are.   onnx.ai/onnx/operators/onnx__ArgMax.html
#pragma once

#include "tenon/op/families/reduction.hpp"

namespace tenon::TENON_ABI::op {

/// The index along `axis` of the greatest element: the first of equals, or the last with select_last_index.
/// NaN counts as greater than all else. op::ArgMax{.axis = 0}(x) of (1,3,2) gives (1).
using ArgMax = ArgReduction<"ArgMax", true>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ArgMax)
