// Softmax: exponentials along an axis, scaled to sum 1.   onnx.ai/onnx/operators/onnx__Softmax.html
#pragma once

#include "tenon/kernels/reduce/softmax.hpp"
#include "tenon/op/families/along_axis.hpp"

namespace tenon::TENON_ABI::op {

namespace softmax_detail {

template <bool Log>
struct Lines {
  template <class T>
  void operator()(const T* x, T* y, int64_t outer, int64_t extent, int64_t inner) const {
    if constexpr (Log) kernels::log_softmax(x, y, outer, extent, inner);
    else kernels::softmax(x, y, outer, extent, inner);
  }
};

}  // namespace softmax_detail

/// output = exp(input) / ReduceSum(exp(input), axis). Stable: the greatest element is subtracted first.
/// op::Softmax{.axis = 0}(x) of (0,0) gives (0.5,0.5).
using Softmax = AlongAxis<"Softmax", softmax_detail::Lines<false>>;

/// Axes from `axis` on are normalised together.
using Softmax_1 = FromAxisOn<Softmax>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Softmax, tenon::op::Softmax_1)
