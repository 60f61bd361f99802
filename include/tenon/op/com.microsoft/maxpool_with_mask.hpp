// MaxpoolWithMask: the greatest element of each window, as far as a mask goes.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MaxpoolWithMask
#pragma once

#include <limits>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/op/families/window.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y (N, C, out...) from X (N, C, in...), of one to three spatial axes, and mask M (N', C', in...). Of each
/// row of a window, along the last axis, the elements before the first one with a mask of 0 count; without
/// any, the result is the lowest number. With two and three axes the mask of a plane's first element does not
/// count. As in ONNX Runtime, the mask of channel c, of all N C, starts at M's element
/// c in... % (N' C'): it is one for all channels if N' C' divides a plane's elements.
/// op::com_microsoft::MaxpoolWithMask{.kernel_shape = {3}}(x, m) of (1,2,8) and (1,1,8) gives (1,2,6).
struct MaxpoolWithMask {
  Str auto_pad = "NOTSET";
  Ints kernel_shape{};
  Ints pads{};
  int64_t storage_order = 0;  ///< has no effect
  Ints strides{};

  static constexpr Spec spec{.name = "MaxpoolWithMask",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"}, {"M", "tensor(int32)"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::float32}}};
  static constexpr Attributes attributes{
      attr("auto_pad", &MaxpoolWithMask::auto_pad),
      attr("kernel_shape", &MaxpoolWithMask::kernel_shape).required(), attr("pads", &MaxpoolWithMask::pads),
      attr("storage_order", &MaxpoolWithMask::storage_order), attr("strides", &MaxpoolWithMask::strides)};

  constexpr WindowAttributes window() const { return {auto_pad, {}, kernel_shape, pads, strides}; }
  constexpr void infer(Infer& i) const {
    const Dims y = infer_pool(i, window());
    if (i.failed()) return;
    if (kernel_shape.size() < 1 || kernel_shape.size() > 3)
      return i.fail(kernel_shape.size(), " spatial axes, expected 1 to 3");
    if (i.ranked(1)) {
      if (!i.expect_rank(1, kernel_shape.size() + 2)) return;
      const Dims& m = i.dims(1);
      if (m[0].is(0) || m[1].is(0)) return i.fail("mask ", m, " has no elements");
      if (i.ranked(0))
        for (int k = 2; k < m.rank(); ++k) i.unify(m[k], i.dims(0)[k], "extents of the mask and of X");
    }
    if (!i.failed()) i.out(0, y);
  }
  void compute(TensorView<const float> x, TensorView<const int32_t> m, TensorView<float> y) const {
    if (y.empty()) return;
    const WindowLayout l(window(), x.extents(), y.extents(), kernel_shape);
    const auto plane = [&](const int64_t* extents) {
      int64_t cells = 1;
      for (int k = 0; k < l.rank; ++k) cells *= extents[k];
      return cells;
    };
    const int64_t channels = x.extent(0) * x.extent(1), masks = m.extent(0) * m.extent(1);
    const int64_t in = plane(l.in), out = plane(l.out), kernel = plane(l.kernel);
    const int64_t grain = std::max<int64_t>(1, task_work::cheap / std::max<int64_t>(1, out * kernel));
    parallel_for(channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        for (int64_t k = 0; k < out; ++k)
          y[c * out + k] = greatest(l, x.data() + c * in, m.data() + c * in % masks, k);
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// Of the window at place `at` of a plane.
  static float greatest(const WindowLayout& l, const float* x, const int32_t* m, int64_t at) {
    int64_t first[3] = {}, past[3] = {1, 1, 1}, extent[3] = {1, 1, 1};
    for (int k = l.rank - 1, axis = 2; k >= 0; --k, --axis) {
      const int64_t start = at % l.out[k] * l.strides[k] - l.pads_begin[k];
      at /= l.out[k];
      extent[axis] = l.in[k];
      first[axis] = std::max<int64_t>(start, 0);
      past[axis] = std::min(start + l.kernel[k], l.in[k]);
    }
    float y = std::numeric_limits<float>::lowest();
    for (int64_t a = first[0]; a < past[0]; ++a)
      for (int64_t b = first[1]; b < past[1]; ++b)
        for (int64_t c = first[2]; c < past[2]; ++c) {
          const int64_t k = (a * extent[1] + b) * extent[2] + c;
          if (m[k] == 0 && (k > 0 || l.rank == 1)) break;
          if (x[k] > y) y = x[k];
        }
    return y;
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::MaxpoolWithMask)
