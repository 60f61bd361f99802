// LayerNormalization: mean 0 and variance 1 over the last axes.
// onnx.ai/onnx/operators/onnx__LayerNormalization.html
#pragma once

#include "tenon/op/families/normalization.hpp"
#include "tenon/op/families/wide.hpp"

namespace tenon::TENON_ABI::op {

/// Y = (X - Mean) * InvStdDev * Scale + B over the axes of X from `axis` on, with InvStdDev = 1 /
/// sqrt(variance + epsilon). Mean and InvStdDev have X's extents, 1 on these axes; stash_type 1 (float) or 16
/// (bfloat16) is their element type. Scale and B stretch over X. op::LayerNormalization{}(x, scale) of (2,3)
/// and (3) gives (2,3).
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
    if (!i.expect_type("stash_type", stash_type, {dtype<float>, dtype<bfloat16>})) return;
    const DType stash = dtype_from_onnx(stash_type);
    const Dims& x = i.dims(0);
    Dims rows = x;
    if (x.ranked()) {
      const int a = i.axis(axis, x.rank());
      if (i.failed()) return;
      for (int k = a; k < x.rank(); ++k) rows[k] = 1;
      expect_stretches(i, 1);
      expect_stretches(i, 2);
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
      const auto extents = x.extents().subspan(static_cast<std::size_t>(resolve_axis(axis, x.rank())));
      const int64_t n = extent_product(extents);
      const bool shared = same_for_all_rows(scale, extents.size()) && same_for_all_rows(b, extents.size());
      const auto of_row = [&](TensorView<const T> v) {
        return shared ? stretched(scratch, v, extents, n) : nullptr;
      };
      const T *scales = shared ? nullptr : apart(scratch, scale, y),
              *biases = shared ? nullptr : apart(scratch, b, y);
      kernels::layer_norm<T>({.x = x.data(),
                              .y = y.data(),
                              .rows = x.size() / n,
                              .n = n,
                              .scale = of_row(scale),
                              .bias = of_row(b),
                              .epsilon = epsilon,
                              .mean = means,
                              .inv_std = inv_stds});
      if (scales) combine<kernels::BinaryOp::mul>(y, scale, scales);
      if (biases) combine<kernels::BinaryOp::add>(y, b, biases);
    }
    const auto finish = [&](const float* from, AnyOut out) {
      if (out && out.dtype() == DType::bfloat16) narrow(from, out.as<bfloat16>().data(), stats);
    };
    finish(means, mean);
    finish(inv_stds, inv_std_dev);
  }
  template <class L>
  void loops(L& l) const {
    l.each_axis(0, l.dims(0).ranked() ? resolve_axis(axis, l.dims(0).rank()) : 0);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::LayerNormalization)
