// Normalisations share the rules for the extents of scales and biases, and kernel calls.
#pragma once

#include "tenon/base/scratch.hpp"
#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/kernels/reduce/normalize.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// Refuses a scale or bias that does not stretch over x, or has more axes, even of extent 1: unidirectional
/// broadcasting prepends axes to the second tensor only.
constexpr void expect_stretches(Infer& i, int input) {
  const Dims &x = i.dims(0), &s = i.dims(input);
  if (!i.has(input) || !s.ranked() || !x.ranked()) return;
  i.for_runs([&] {
    if (s.rank() > x.rank()) i.fail("input ", input, " ", s, " does not stretch over ", x);
  });
  for (int k = 1; k <= s.rank(); ++k) {
    const Dim d = s[s.rank() - k];
    if (!d.is(1) && (k > x.rank() ? d.known() : d.differs(x[x.rank() - k])))
      return i.fail("input ", input, " ", s, " does not stretch over ", x);
  }
}

/// Whether a scale or bias is the same for all rows, which have the last `axes` axes. An absent one is.
template <class T>
bool same_for_all_rows(TensorView<const T> v, std::size_t axes) {
  return extent_product(v.extents().first(v.extents().size() - std::min(v.extents().size(), axes))) == 1;
}

/// v's elements for n positions along the axes of `extents`, the same in every row: in v itself, or in a copy
/// that is stretched.
template <class T>
const T* stretched(Scratch& scratch, TensorView<const T> v, std::span<const int64_t> extents, int64_t n) {
  if (!v || v.size() == n) return v.data();
  const auto plan =
      kernels::broadcast_plan(extents, v.extents().last(std::min(v.extents().size(), extents.size())));
  T* wide = scratch.take<T>(n);
  const int64_t step = plan.strides[1][plan.rank - 1];
  kernels::for_each_run(plan, 0, n, [&](int64_t at, const int64_t* offsets, int64_t count) {
    for (int64_t k = 0; k < count; ++k) wide[at + k] = v[offsets[1] + k * step];
  });
  return wide;
}

/// v's elements, to be read after y is written: in v itself, or in a copy if y lies in its memory.
template <class T>
const T* apart(Scratch& scratch, TensorView<const T> v, TensorView<T> y) {
  if (v.data() != y.data() || v.empty()) return v.data();
  return std::copy_n(v.data(), v.size(), scratch.take<T>(v.size())) - v.size();
}
/// y = F(y, v), where v, at `elements`, is stretched.
template <kernels::BinaryOp F, class T>
void combine(TensorView<T> y, TensorView<const T> v, const T* elements) {
  kernels::binary<F>(y.data(), elements, y.data(), kernels::broadcast_plan(y.extents(), v.extents()));
}

/// The precision of the first stage, which stash_type states. Sums are always at least that precise.
constexpr bool expect_stash_type(Infer& i, int64_t stash_type) {
  return i.expect_type("stash_type", stash_type,
                       {dtype<float>, dtype<float16>, dtype<double>, dtype<bfloat16>});
}

/// The rule of a normalisation of X (N, C, ...), input 0, whose scale and bias, inputs 1 and 2, have one
/// element for each of `parts` groups or channels.
constexpr void infer_channel_normalization(Infer& i, Dim parts) {
  if (!i.expect_rank_at_least(0, 2) || !i.expect_rank(1, 1) || !i.expect_rank(2, 1)) return;
  for (int k = 1; k < 3; ++k)
    if (i.ranked(k)) parts = i.unify(parts, i.dims(k)[0], "extents of channels");
  i.out(0, i.dims(0));
}

/// Y = (X - mean) / sqrt(variance + epsilon) * scale + bias for each of `groups` parts of the channels of X
/// (N, C, ...); scale and bias have an element for each channel.
template <class T>
void normalize_groups(TensorView<const T> x, int64_t groups, const T* scale, const T* bias, double epsilon,
                      TensorView<T> y) {
  if (x.empty()) return;
  const auto [batch, channels, spatial] = split_at(x.extents(), 1);
  kernels::group_norm<T>({.x = x.data(),
                          .y = y.data(),
                          .batch = batch,
                          .groups = groups,
                          .channels = channels,
                          .spatial = spatial,
                          .scale = scale,
                          .bias = bias,
                          .epsilon = epsilon});
}

}  // namespace tenon::TENON_ABI::op
