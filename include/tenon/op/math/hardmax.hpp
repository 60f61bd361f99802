// Hardmax: 1 for the greatest element along an axis, else 0.   onnx.ai/onnx/operators/onnx__Hardmax.html
#pragma once

#include <algorithm>

#include "tenon/base/costs.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/reduce/arg_reduce.hpp"
#include "tenon/op/families/along_axis.hpp"

namespace tenon::TENON_ABI::op {

namespace hardmax_detail {

struct Lines {
  template <class T>
  void operator()(const T* x, T* y, int64_t outer, int64_t extent, int64_t inner) const {
    Scratch scratch;
    int64_t* greatest = scratch.take<int64_t>(outer * inner);
    kernels::arg_reduce(true, false, x, greatest, outer, extent, inner);
    const int64_t block = extent * inner;
    parallel_for(outer, std::max<int64_t>(1, task_work::cheap / block), [=](int64_t begin, int64_t end) {
      std::fill(y + begin * block, y + end * block, T(0.0f));
      for (int64_t o = begin; o < end; ++o)
        for (int64_t k = 0; k < inner; ++k) y[o * block + greatest[o * inner + k] * inner + k] = T(1.0f);
    });
  }
};

}  // namespace hardmax_detail

/// 1 for the greatest element along `axis`, the first of equals; else 0. NaN counts as greater than all else.
/// op::Hardmax{.axis = 0}(x) of (1,3,2) gives (0,1,0).
using Hardmax = AlongAxis<"Hardmax", hardmax_detail::Lines>;

/// Axes from `axis` on form one line together.
using Hardmax_1 = FromAxisOn<Hardmax>;

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Hardmax, tenon::op::Hardmax_1)
