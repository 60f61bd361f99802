// RMSNormalization: root of the mean square 1 over the last axes.
// onnx.ai/onnx/operators/onnx__RMSNormalization.html
#pragma once

#include "tenon/op/families/normalization.hpp"
#include "tenon/op/families/wide.hpp"

namespace tenon::TENON_ABI::op {

/// Y = X / sqrt(mean(X^2) + epsilon) * scale, where the mean is over the axes of X from `axis` on, along
/// which scale stretches. Y has scale's type. Sums are at least as precise as `stash_type` asks.
/// op::RMSNormalization{}(x, scale) of (2,3) and (3) gives (2,3).
struct RMSNormalization {
  int64_t axis = -1;
  float epsilon = 1e-5f;
  int64_t stash_type = 1;

  // V comes first, so that `compute` is typed by the results.
  static constexpr Spec spec{.name = "RMSNormalization",
                             .since = {23},
                             .inputs = {{"X", "T"}, {"scale", "V"}},
                             .outputs = {{"Y", "V"}},
                             .types = {{"V", types::floats_bf16}, {"T", types::floats_bf16}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("axis", &RMSNormalization::axis),
                                         attr("epsilon", &RMSNormalization::epsilon),
                                         attr("stash_type", &RMSNormalization::stash_type)};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    if (!expect_stash_type(i, stash_type) || !x.ranked()) return;
    i.axis(axis, x.rank());
    if (i.failed()) return;
    expect_stretches(i, 1);
    i.out(0, x);
  }
  template <class V>
  void compute(AnyView x, TensorView<const V> scale, TensorView<V> y) const {
    if (x.empty()) return;
    const auto extents = x.extents().subspan(static_cast<std::size_t>(resolve_axis(axis, x.rank())));
    const int64_t n = extent_product(extents);
    Scratch scratch;
    if (same_for_all_rows(scale, extents.size()))
      return normalize(x, n, stretched(scratch, scale, extents, n), y);
    const V* scales = apart(scratch, scale, y);
    normalize<V>(x, n, nullptr, y);
    combine<kernels::BinaryOp::mul>(y, scale, scales);
  }
  template <class L>
  void loops(L& l) const {
    l.each_axis(0, l.dims(0).ranked() ? resolve_axis(axis, l.dims(0).rank()) : 0);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// y from rows of n elements of x. Every row has the same `scales`: n elements, or null for none.
  template <class V>
  void normalize(AnyView x, int64_t n, const V* scales, TensorView<V> y) const {
    const int64_t rows = x.size() / n;
    if (x.dtype() == dtype_of<V>) {
      kernels::rms_norm<V>({static_cast<const V*>(x.data()), y.data(), rows, n, scales, nullptr, epsilon});
      return;
    }
    using C = compute_t<V>;
    Scratch scratch;
    const C *wide_x = numbers<C>(scratch, x), *wide_scales = widen(scratch, scales, n);
    C* wide_y = wide_result(scratch, y.data(), y.size());
    kernels::rms_norm<C>({wide_x, wide_y, rows, n, wide_scales, nullptr, epsilon});
    narrow(wide_y, y.data(), y.size());
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::RMSNormalization)
