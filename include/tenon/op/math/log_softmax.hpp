// LogSoftmax: logarithms of softmax along an axis.   onnx.ai/onnx/operators/onnx__LogSoftmax.html
#pragma once

#include "tenon/kernels/reduce/softmax.hpp"
#include "tenon/op/families/along_axis.hpp"

namespace tenon::op {

namespace log_softmax_detail {

struct Lines {
  template <class T>
  void operator()(const T* x, T* y, int64_t outer, int64_t extent, int64_t inner) const {
    kernels::log_softmax(x, y, outer, extent, inner);
  }
};

}  // namespace log_softmax_detail

/// output = input - log(ReduceSum(exp(input), axis)). Stable: the greatest element is subtracted first.
/// op::LogSoftmax{.axis = 0}(x) of (0,0) gives (-0.693,-0.693).
using LogSoftmax = AlongAxis<"LogSoftmax", log_softmax_detail::Lines>;

/// Axes from `axis` on are normalised together.
using LogSoftmax_1 = FromAxisOn<LogSoftmax>;

}  // namespace tenon::op
