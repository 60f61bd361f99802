// LogSoftmax: logarithms of softmax along an axis.   onnx.ai/onnx/operators/onnx__LogSoftmax.html
#pragma once

#include "tenon/op/math/softmax.hpp"

namespace tenon::TENON_ABI::op {

/// output = input - log(ReduceSum(exp(input), axis)). Stable: the greatest element is subtracted first.
/// op::LogSoftmax{.axis = 0}(x) of (0,0) gives (-0.693,-0.693).
using LogSoftmax = AlongAxis<"LogSoftmax", softmax_detail::Lines<true>>;

/// Axes from `axis` on are normalised together.
using LogSoftmax_1 = FromAxisOn<LogSoftmax>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::LogSoftmax, tenon::op::LogSoftmax_1)
