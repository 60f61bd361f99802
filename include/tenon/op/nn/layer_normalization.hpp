// LayerNormalization: mean 0 and variance 1 over the last axes.
// onnx.ai/onnx/operators/onnx__LayerNormalization.html
#pragma once

#include "tenon/base/scratch.hpp"
#include "tenon/kernels/elementwise/broadcast.hpp"
#include "tenon/kernels/reduce/normalize.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::op {

namespace layer_normalization_detail {

/// Refuses a scale or bias that does not stretch over the axes of x from `axis` on.
constexpr void check_affine(Infer& i, int input, int axis) {
  const Dims &x = i.dims(0), &s = i.dims(input);
  if (!i.has(input) || !s.ranked()) return;
  for (int k = 1; k <= s.rank(); ++k) {
    const Dim d = s[s.rank() - k];
    if (d.is(1)) continue;
    if (k > x.rank() - axis ? d.known() : d.differs(x[x.rank() - k]))
      return i.fail("input ", input, " ", s, " does not stretch over axes of ", x, " from ", axis, " on");
  }
}

/// v's elements for n positions along the axes of `extents`: in v itself, or in a copy that is stretched.
template <class T>
const T* affine(Scratch& scratch, TensorView<const T> v, std::span<const int64_t> extents, int64_t n) {
  if (!v || v.size() == n) return v.data();
  const auto own = static_cast<std::size_t>(v.rank());
  const auto plan =
      kernels::broadcast_plan(extents, v.extents().subspan(own - std::min(own, extents.size())));
  T* wide = scratch.take<T>(n);
  const int64_t step = plan.strides[1][plan.rank - 1];
  kernels::for_each_run(plan, 0, n, [&](int64_t at, const int64_t* offsets, int64_t count) {
    for (int64_t k = 0; k < count; ++k) wide[at + k] = v[offsets[1] + k * step];
  });
  return wide;
}
}  // namespace layer_normalization_detail

/// Y = (X - Mean) * InvStdDev * Scale + B over the axes of X from `axis` on, with InvStdDev = 1 /
/// sqrt(variance + epsilon). Mean and InvStdDev have X's extents, 1 on these axes; stash_type 1 (float) or 16
/// (bfloat16) is their element type. op::LayerNormalization{}(x, scale) of (2,3) and (3) gives (2,3).
struct LayerNormalization {
  int64_t axis = -1;
  float epsilon = 1e-5f;
  int64_t stash_type = 1;

  static constexpr Spec spec{.name = "LayerNormalization",
                             .since = {17},
                             .inputs = {{"X", "T"}, {"Scale", "T"}, {"B", "T", optional}},
                             .outputs = {{"Y", "T"}, {"Mean", "U", optional}, {"InvStdDev", "U", optional}},
                             .types = {{"T", types::floats_bf16}, {"U", types::float32 | types::bfloat16}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("axis", &LayerNormalization::axis),
                                         attr("epsilon", &LayerNormalization::epsilon),
                                         attr("stash_type", &LayerNormalization::stash_type)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("stash_type", stash_type, {dtype<float>, dtype<bfloat16>})) return;
    const DType stash = dtype_from_onnx(stash_type);
    const Dims& x = i.dims(0);
    Dims rows = x;
    if (x.ranked()) {
      const int a = i.axis(axis, x.rank());
      if (i.failed()) return;
      for (int k = a; k < x.rank(); ++k) rows[k] = 1;
      layer_normalization_detail::check_affine(i, 1, a);
      layer_normalization_detail::check_affine(i, 2, a);
    }
    i.out(0, x);
    i.out(1, stash, rows);
    i.out(2, stash, rows);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> scale, TensorView<const T> b, TensorView<T> y,
               AnyOut mean, AnyOut inv_std_dev) const {
    Scratch scratch;
    const int64_t stats = mean ? mean.size() : inv_std_dev.size();
    const auto floats = [&](AnyOut out) -> float* {
      if (!out) return nullptr;
      return out.dtype() == DType::float32 ? out.as<float>().data() : scratch.take<float>(stats);
    };
    float *means = floats(mean), *inv_stds = floats(inv_std_dev);
    if (x.empty()) {
      for (float* s : {means, inv_stds})
        if (s) std::fill_n(s, stats, std::numeric_limits<float>::quiet_NaN());
    } else {
      const auto a = static_cast<std::size_t>(resolve_axis(axis, x.rank()));
      const int64_t n = product(x.extents().subspan(a));
      kernels::layer_norm<T>(
          {.x = x.data(),
           .y = y.data(),
           .rows = x.size() / n,
           .n = n,
           .scale = layer_normalization_detail::affine(scratch, scale, x.extents().subspan(a), n),
           .bias = layer_normalization_detail::affine(scratch, b, x.extents().subspan(a), n),
           .epsilon = epsilon,
           .mean = means,
           .inv_std = inv_stds});
    }
    const auto finish = [&](const float* from, AnyOut out) {
      if (!out || out.dtype() == DType::float32) return;
      bfloat16* to = out.as<bfloat16>().data();
      for (int64_t k = 0; k < stats; ++k) to[k] = static_cast<bfloat16>(from[k]);
    };
    finish(means, mean);
    finish(inv_stds, inv_std_dev);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
