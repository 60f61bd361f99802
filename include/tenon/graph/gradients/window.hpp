// Derivatives of convolutions and pools. Windows lie on x with its padding made explicit; Pad with negative
// pads crops.
#pragma once

#include "tenon/graph/gradients/movement.hpp"
#include "tenon/graph/gradients/reduction.hpp"
#include "tenon/op/nn/average_pool.hpp"
#include "tenon/op/nn/conv.hpp"
#include "tenon/op/nn/conv_transpose.hpp"
#include "tenon/op/nn/global_average_pool.hpp"
#include "tenon/op/nn/global_lp_pool.hpp"
#include "tenon/op/nn/global_max_pool.hpp"
#include "tenon/op/nn/lp_pool.hpp"
#include "tenon/op/nn/max_pool.hpp"

namespace tenon::TENON_ABI::gradients {

/// A number for each spatial axis: vectors of int64.
struct Windows {
  Term kernel, strides, dilations;

  Windows(Writer& w, const op::WindowAttributes& a, Term kernel_extents, int spatial)
      : kernel(kernel_extents) {
    std::vector<int64_t> s, d;
    for (int k = 0; k < spatial; ++k) s.push_back(a.stride(k)), d.push_back(a.dilation(k));
    strides = w.integers(s);
    dilations = w.integers(d);
  }
  /// Cells from a window's first to its last.
  Term reach() const { return (kernel - 1.0) * dilations + 1.0; }
  /// Cells that this number of window positions covers.
  Term covered(Term positions) const { return (positions - 1.0) * strides + reach(); }
};
struct Padding {
  Term begin, end;
};
/// The padding that the attributes state, or that auto_pad determines if `total` cells are missing.
inline Padding padding(Writer& w, const op::WindowAttributes& a, bool from_total, Term total, int spatial) {
  if (!from_total) {
    std::vector<int64_t> begin, end;
    for (int k = 0; k < spatial; ++k) begin.push_back(a.padding(k).begin), end.push_back(a.padding(k).end);
    return {w.integers(begin), w.integers(end)};
  }
  const Term all = w.add(op::Max{}, {total, w.number(0, total)}), half = all / 2.0;
  if (a.split(1).begin == 0) return {half, all - half};
  return {all - half, half};
}
/// x with cells of `value` added along spatial axes, or cells removed.
inline Term padded(Term x, Term begin, Term end, int spatial, double value = 0) {
  std::vector<int64_t> axes;
  for (int k = 0; k < spatial; ++k) axes.push_back(k + 2);
  Writer& w = *x.writer;
  return w.add(op::Pad{}, {x, concat_terms({begin, end}), w.number(value, x), w.integers(axes)});
}
inline Term with_samples_and_channels_exchanged(Term x, int rank) {
  op::Transpose t;
  for (int k = 0; k < rank; ++k) t.perm.push_back(k < 2 ? 1 - k : k);
  return x.writer->add(t, {x});
}

/// The derivative with respect to the weights (M, C/group, kernel) of a convolution without padding that has
/// made g (N, M, out) of x (N, C, in): x convolved with g, with samples and channels, and strides and
/// dilations, exchanged.
inline Term weights_gradient(Dim samples, Term x, Term g, Term weights, int64_t group, const Ints& strides,
                             const Ints& dilations, int spatial) {
  Writer& w = *x.writer;
  if (!samples.known() || samples.is(0)) {
    // Samples become channels, which no convolution lacks: zeros take the place of a first sample.
    const auto with_sample = [&](Term t) {
      const Term none = w.integers({0}), one = w.integers({1});
      const Term lacking = w.add(op::Max{}, {none, one - shape(t, 0, 1)});
      return w.add(op::Pad{}, {t, concat_terms({none, lacking}), w.number(0, t), none});
    };
    x = with_sample(x);
    g = with_sample(g);
  }
  Term columns{};
  if (group == 1) {
    columns = with_samples_and_channels_exchanged(x, spatial + 2);
  } else {
    const Term groups = w.integers({group}), samples = shape(x, 0, 1), inside = shape(x, 2);
    const Term channels = shape(x, 1, 2) / groups;
    op::Transpose t{.perm = {2, 1, 0}};
    for (int k = 0; k < spatial; ++k) t.perm.push_back(k + 3);
    columns = w.add(t, {reshape(x, concat_terms({samples, groups, channels, inside}))});
    columns = reshape(columns, concat_terms({channels, groups * samples, inside}));
  }
  const op::Conv conv{.dilations = strides, .group = group, .strides = dilations};
  const Term d = w.add(conv, {columns, with_samples_and_channels_exchanged(g, spatial + 2)});
  // Cells of x that no window reached make d larger than the kernel.
  const Term none = w.integers(std::vector<int64_t>(static_cast<std::size_t>(spatial), 0));
  return with_samples_and_channels_exchanged(padded(d, none, shape(weights, 2) - shape(d, 2), spatial),
                                             spatial + 2);
}
/// The number of samples of operand 0.
inline Dim samples(Step& s) {
  const Dims d = s.w.dims(s.x(0));
  return d.ranked() ? d[0] : Dim();
}
inline void bias_step(Step& s, int spatial) {
  if (!s.wants(2)) return;
  std::vector<int64_t> axes{0};
  for (int k = 0; k < spatial; ++k) axes.push_back(k + 2);
  s.give(2, reduce_sum(s.g(), s.w.integers(axes), false));
}

inline void conv_step(Step& s) {
  const op::Conv& conv = s.op<op::Conv>();
  const Term x = s.x(0), weights = s.x(1), g = s.g();
  const int spatial = s.rank(weights) - 2;
  bias_step(s, spatial);
  const op::WindowAttributes a = conv.window();
  const Windows windows(s.w, a, shape(weights, 2), spatial);
  const Term in = shape(x, 2), missing = a.same() ? windows.covered(shape(s.y(), 2)) - in : Term{};
  const Padding pad = padding(s.w, a, a.same(), missing, spatial);
  if (s.wants(0)) {
    const Term all =
        s.w.add(op::ConvTranspose{.dilations = conv.dilations, .group = conv.group, .strides = conv.strides},
                {g, weights});
    s.give(0, padded(all, -pad.begin, in + pad.begin - shape(all, 2), spatial));
  }
  if (s.wants(1))
    s.give(1, weights_gradient(samples(s), padded(x, pad.begin, pad.end, spatial), g, weights, conv.group,
                               conv.strides, conv.dilations, spatial));
}

inline void conv_transpose_step(Step& s) {
  const op::ConvTranspose& conv = s.op<op::ConvTranspose>();
  const Term x = s.x(0), weights = s.x(1);
  const int spatial = s.rank(weights) - 2;
  bias_step(s, spatial);
  const op::WindowAttributes a = conv.window();
  const Windows windows(s.w, a, shape(weights, 2), spatial);
  // Without padding the result has as many cells as the windows cover.
  const Term covered = windows.covered(shape(x, 2)), out = shape(s.y(), 2);
  std::vector<int64_t> added;
  for (int k = 0; k < spatial; ++k) added.push_back(conv.added(k));
  const Padding pad =
      padding(s.w, a, a.same() || !conv.output_shape.empty(), covered + s.w.integers(added) - out, spatial);
  const Term g = padded(s.g(), pad.begin, covered - out - pad.begin, spatial);
  if (s.wants(0))
    s.give(0, s.w.add(op::Conv{.dilations = conv.dilations, .group = conv.group, .strides = conv.strides},
                      {g, weights}));
  if (s.wants(1))
    s.give(1, weights_gradient(samples(s), g, x, weights, conv.group, conv.strides, conv.dilations, spatial));
}

/// Sums over the windows of a pool: a convolution of each channel with ones.
class WindowSums {
 public:
  /// x: operand 0, in the type that sums have.
  WindowSums(Step& s, Term x, const op::WindowAttributes& a)
      : s_(s),
        w_(s.w),
        x_(x),
        spatial_(a.kernel_shape.size()),
        conv_{.dilations = a.dilations, .strides = a.strides},
        one_(w_.integers({1})),
        in_(shape(x, 2)) {
    const Term kernel = w_.integers(a.kernel_shape);
    const Term covered = Windows(w_, a, kernel, spatial_).covered(shape(s.y(), 2));
    pad_ = padding(w_, a, a.same(), covered - in_, spatial_);
    after_ = covered - in_ - pad_.begin;
    ones_ = expand(w_.number(1, x), concat_terms({one_, one_, kernel}));
  }
  /// Of values at the places of x, with the extents of y.
  Term of(Term x) const {
    const Term channels = reshape(x, concat_terms({shape(x, 0, 1) * shape(x, 1, 2), one_, in_}));
    return reshape(over(padded(channels, pad_.begin, after_, spatial_)), shape(s_.y()));
  }
  /// The number of cells in each window, with the padding that attributes state or without: (1, 1, out).
  Term cells(bool with_padding) const {
    const Term cells = expand(w_.number(1, x_), concat_terms({one_, one_, in_}));
    if (!with_padding) return over(padded(cells, pad_.begin, after_, spatial_));
    const Term none = w_.integers(std::vector<int64_t>(static_cast<std::size_t>(spatial_), 0));
    return over(padded(padded(cells, pad_.begin, pad_.end, spatial_, 1), none, after_ - pad_.end, spatial_));
  }

 private:
  Term over(Term x) const { return w_.add(conv_, {x, ones_}); }

  Step& s_;
  Writer& w_;
  Term x_;
  int spatial_;
  op::Conv conv_;
  Term one_, in_, ones_{}, after_{};
  Padding pad_{};
};

inline void average_pool_step(Step& s) {
  const op::AveragePool& pool = s.op<op::AveragePool>();
  const WindowSums sums(s, s.x(), pool.window());
  s.through({sums.of(s.x()) / sums.cells(pool.count_include_pad != 0)});
}
/// The sum of the powers of magnitudes, and its root, whose slope is infinite at 0.
inline Term powers(Term x, double p) {
  return x.writer->add(op::Pow{}, {apply(op::Abs{}, x), x.writer->number(p, x)});
}
inline Term root(Term sum, double p) {
  const Term none = equal(sum, 0.0);
  const Term one_over_p = sum.writer->number(1 / p, sum);
  return where(none, 0.0, sum.writer->add(op::Pow{}, {where(none, 1.0, sum), one_over_p}));
}
template <class Op>
void lp_pool_step(Step& s) {
  const auto p = static_cast<double>(s.op<Op>().p);
  const Term x = widened(s.x());
  const WindowSums sums(s, x, s.op<Op>().window());
  s.through({cast_like(root(sums.of(powers(x, p)), p), s.x())});
}
inline void max_pool_step(Step& s) {
  op::MaxPool pool = s.op<op::MaxPool>();
  Term indices = s.y(1);
  if (!indices || pool.storage_order != 0) {
    pool.storage_order = 0;
    indices = s.w.add_node(pool, std::array{s.x()}, 2)[1];
  }
  // Index -1 stands for a window that lies in the padding.
  s.give(0, scattered(masked(indices > -1.0, s.g()), indices, s.x()));
}
/// The spatial axes of x (N, C, spatial...).
inline Term spatial_axes(Step& s) {
  std::vector<int64_t> axes;
  for (int k = 2; k < s.rank(s.x()); ++k) axes.push_back(k);
  return s.w.integers(axes);
}

template <class Op>
void global_lp_pool_step(Step& s) {
  const auto p = static_cast<double>(s.op<Op>().p);
  const Term sum = reduce_sum(powers(widened(s.x()), p), spatial_axes(s), true);
  s.through({cast_like(root(sum, p), s.x())});
}

inline constexpr Rule window_rules[] = {
    {&operator_id<op::Conv>, conv_step},
    {&operator_id<op::ConvTranspose>, conv_transpose_step},
    {&operator_id<op::AveragePool>, average_pool_step},
    {&operator_id<op::MaxPool>, max_pool_step},
    {&operator_id<op::LpPool>, lp_pool_step<op::LpPool>},
    {&operator_id<op::LpPool_1>, lp_pool_step<op::LpPool_1>},
    {&operator_id<op::GlobalLpPool>, global_lp_pool_step<op::GlobalLpPool>},
    {&operator_id<op::GlobalLpPool_1>, global_lp_pool_step<op::GlobalLpPool_1>},
    {&operator_id<op::GlobalAveragePool>,
     [](Step& s) {
       s.through({s.w.add(op::ReduceMean{.noop_with_empty_axes = 1}, {s.x(), spatial_axes(s)})});
     }},
    {&operator_id<op::GlobalMaxPool>,
     [](Step& s) {
       s.through({s.w.add(op::ReduceMax{.noop_with_empty_axes = 1}, {s.x(), spatial_axes(s)})});
     }},
};

}  // namespace tenon::TENON_ABI::gradients
