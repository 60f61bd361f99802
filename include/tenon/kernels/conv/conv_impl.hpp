// Convolutions: bodies.
//
// A convolution is the product of weights (Cout / groups, Cin / groups * kernel cells) and a matrix of
// windows (Cin / groups * kernel cells, output cells) that never exists as a whole: its panels are gathered
// from the input when the product needs them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/conv.hpp"
#include "tenon/kernels/conv/planes.hpp"
#include "tenon/kernels/conv/sliding.hpp"
#include "tenon/kernels/conv/transposed.hpp"
#include "tenon/simd/batch.hpp"

// Convolutions and products are instantiated in different translation units.
#pragma push_macro("TENON_INSTANTIATE")
#undef TENON_INSTANTIATE
#include "tenon/kernels/gemm/gemm_impl.hpp"
#pragma pop_macro("TENON_INSTANTIATE")

namespace tenon::kernels::conv_detail {

using gemm_detail::Finish;
using gemm_detail::pack_panel;
using gemm_detail::pack_whole;
using gemm_detail::packed_size;
using gemm_detail::Product;
using gemm_detail::run_products;
using gemm_detail::Single;
using gemm_detail::Tile;
using sliding::Axis;
using sliding::copy_strided;
using sliding::fill_run;
using sliding::fits_padded;
using sliding::list_places;
using sliding::most_places;
using sliding::PaddedPlane;
using sliding::Place;
using sliding::reduce_windows;
using sliding::SlidingWindow;
using sliding::step;
using sliding::steps_to_zero;

template <class Arch>
SlidingWindow<Arch> window_of(const ConvGeometry& g) {
  return {true, g.rank, g.in, g.out, g.kernel, g.strides, g.dilations, g.pads};
}

template <class Arch>
int64_t kernel_cells(const ConvGeometry& g) {
  int64_t cells = 1;
  for (int d = 0; d < g.rank; ++d) cells *= g.kernel[d];
  return cells;
}

/// Whether each group has one input channel and few output channels: a product would have almost no rows.
template <class Arch>
bool depthwise(const ConvGeometry& g) {
  return g.in_channels == g.groups && g.out_channels < 4 * g.groups;
}

/// Whether planes.hpp has a kernel for these weights.
template <class Arch, class T>
bool fits_planes(const ConvGeometry& g) {
  return std::is_same_v<T, float> && g.rank == 2 && g.kernel[0] == g.kernel[1] &&
         (g.kernel[0] == 3 || g.kernel[0] == 5 || g.kernel[0] == 7) && g.in_channels >= g.groups &&
         g.out_channels < 4 * g.groups;
}

/// Whether the packed weights are in the order of the plain ones.
template <class Arch, class T>
bool keeps_order(const ConvGeometry& g) {
  return depthwise<Arch>(g) || fits_planes<Arch, T>(g);
}

/// Gathers rows of the window matrix for a range of output cells, in segments of up to a vector. A row
/// belongs to a channel, to a kernel place in the outer axes and to a kernel place in the innermost axis. Its
/// cells have the same offsets in every channel: the outer place gives a segment's input row, if there is
/// one, and the inner place gives the lanes inside of that row. Both are computed once.
template <class T, class Arch>
class WindowRows {
 public:
  static constexpr int lanes = simd::lanes<T, Arch>;
  static constexpr int64_t prefetch_rows = 24;

  /// For output cells [j, j + cols) and `depth` rows from row p on.
  WindowRows(Scratch& scratch, const SlidingWindow<Arch>& w, int64_t kernel_cells, int64_t j, int64_t cols,
             int64_t p, int64_t depth)
      : in_cells_(w.in_cells()),
        inner_(w.inner()),
        outer_kernel_(kernel_cells / inner_.kernel),
        channel_(p / kernel_cells),
        outer_at_(p % kernel_cells / inner_.kernel),
        inner_at_(p % inner_.kernel),
        inner_places_(std::min(depth, inner_.kernel)),
        outer_places_(std::min((inner_at_ + depth - 1) / inner_.kernel + 1, outer_kernel_)) {
    const int64_t most = std::min(cols, cols / lanes + cols / inner_.out + 2);
    column_ = scratch.take<int64_t>(most);
    int64_t* outer_starts = scratch.take<int64_t>(most * w.rank);  // input coordinates for kernel cell 0
    int64_t* inner_starts = scratch.take<int64_t>(most);
    int64_t* lengths = scratch.take<int64_t>(most);
    for (int64_t c = 0; c < cols; c += lengths[segments_++]) {
      const int64_t o = (j + c) % inner_.out;
      lengths[segments_] = std::min({inner_.out - o, cols - c, int64_t{lanes}});
      inner_starts[segments_] = o * inner_.stride - inner_.pad;
      column_[segments_] = c;
      int64_t flat = (j + c) / inner_.out;
      for (int d = w.rank - 2; d >= 0; --d) {
        outer_starts[segments_ * w.rank + d] = flat % w.axis[d].out * w.axis[d].stride - w.axis[d].pad;
        flat /= w.axis[d].out;
      }
    }
    rows_ = scratch.take<Row>(outer_places_ * segments_);
    int64_t at[max_spatial];
    int64_t rest = outer_at_;
    for (int d = w.rank - 2; d >= 0; --d) {
      at[d] = rest % w.axis[d].kernel;
      rest /= w.axis[d].kernel;
    }
    for (int64_t e = 0; e < outer_places_; ++e) {
      for (int64_t s = 0; s < segments_; ++s) {
        int64_t row = 0;
        bool inside = true;
        for (int d = 0; d + 1 < w.rank; ++d) {
          const int64_t x = outer_starts[s * w.rank + d] + at[d] * w.axis[d].dilation;
          inside = inside && x >= 0 && x < w.axis[d].in;
          row = row * w.axis[d].in + x;
        }
        if (inside) rows_[e * segments_ + s] = {row * inner_.in + inner_starts[s], ~uint64_t{0}};
        else rows_[e * segments_ + s] = {0, 0};
      }
      step<Arch>(w.rank - 1, at, [&](int d) { return w.axis[d].kernel; });
    }
    inside_ = scratch.take<uint64_t>(inner_places_ * segments_);
    for (int64_t e = 0; e < inner_places_; ++e) {
      const int64_t k = (inner_at_ + e) % inner_.kernel;
      for (int64_t s = 0; s < segments_; ++s) {
        const int64_t x = inner_starts[s] + k * inner_.dilation;
        const int64_t head = std::min(steps_to_zero(x, inner_.stride), lengths[s]);
        const int64_t end = std::min(steps_to_zero(x - inner_.in, inner_.stride), lengths[s]);
        uint64_t bits = head < end ? (~uint64_t{0} >> (64 - (end - head))) << head : 0;
        if constexpr (std::is_floating_point_v<T>)
          if (inner_.stride == 2) bits = simd::even_masks<T, Arch>(bits);
        inside_[e * segments_ + s] = bits;
      }
    }
  }

  /// Rows [p, p + depth) of the matrix of an input x (channels, cells) go to `to`, `to_step` apart; cells
  /// outside of the input are `fill`. Whole vectors are written: up to a vector to the right of a row's last
  /// cell is overwritten.
  void gather(const T* x, int64_t depth, T* to, int64_t to_step, T fill) const {
    if (inner_.stride == 1) {
      gather_with(x, depth, to, to_step,
                  [fill](const T* from, uint64_t bits) { return simd::load_masked<Arch>(from, bits, fill); });
      return;
    }
    if constexpr (std::is_floating_point_v<T>) {
      if (inner_.stride == 2) {  // masks are for a fill of zero
        gather_with(x, depth, to, to_step,
                    [](const T* from, uint64_t masks) { return simd::load_even_masked<Arch>(from, masks); });
        return;
      }
    }
    gather_with(x, depth, to, to_step, [fill, stride = inner_.stride](const T* from, uint64_t bits) {
      alignas(64) T lane[lanes];
      for (int i = 0; i < lanes; ++i) lane[i] = (bits >> i & 1) != 0 ? from[i * stride] : fill;
      return simd::loadu<Arch>(lane);
    });
  }

 private:
  struct Row {
    int64_t from;   // lane 0's offset in the channel for the first inner place; may be outside of the channel
    uint64_t bits;  // no bit if the row is outside of the input, else all
  };

  template <class Load>
  void gather_with(const T* x, int64_t depth, T* to, int64_t to_step, Load load) const {
    // Channels are too far apart for the hardware to prefetch their rows.
    const int64_t channels_ahead = prefetch_rows / (outer_kernel_ * inner_.kernel) + 1;
    const int64_t ahead = channels_ahead * in_cells_;
    const int64_t last_ahead = depth - channels_ahead * outer_kernel_ * inner_.kernel;
    const T* plane = x + channel_ * in_cells_;
    int64_t outer = outer_at_, inner = inner_at_;  // places in the kernel
    int64_t e = 0, i = 0;                          // and in the tables, which begin there
    for (int64_t k = 0; k < depth; ++k, to += to_step) {
      const Row* row = rows_ + e * segments_;
      const uint64_t* inside = inside_ + i * segments_;
      const T* shifted = plane + inner * inner_.dilation;
      if (inner == 0 && k < last_ahead)
        for (int64_t s = 0; s < segments_; ++s) __builtin_prefetch(shifted + ahead + row[s].from);
      for (int64_t s = 0; s < segments_; ++s)
        simd::storeu(to + column_[s], load(shifted + row[s].from, row[s].bits & inside[s]));
      if (++i == inner_places_) i = 0;
      if (++inner < inner_.kernel) continue;
      inner = 0;
      if (++e == outer_places_) e = 0;
      if (++outer < outer_kernel_) continue;
      outer = 0;
      plane += in_cells_;
    }
  }

  int64_t in_cells_;
  const Axis& inner_;
  int64_t outer_kernel_;
  int64_t channel_, outer_at_, inner_at_;  // of the first row
  int64_t inner_places_, outer_places_;    // numbers of places that the rows need
  int64_t segments_ = 0;
  int64_t* column_;
  Row* rows_;
  uint64_t* inside_;
};

/// Computes each output channel from one input channel: taps over a padded copy.
template <class Arch, class T>
void run_depthwise(const ConvArgs<T>& g, const SlidingWindow<Arch>& w, const T* weights) {
  using V = simd::batch<T, Arch>;
  const ConvGeometry& s = g.geometry;
  const int64_t in = w.in_cells(), out = w.out_cells(), kernel = w.kernel_cells();
  const int64_t each = s.out_channels / s.groups;  // outputs of an input channel
  const int64_t size = PaddedPlane<T, Arch>::size(w, std::numeric_limits<int64_t>::max() - 1);
  const int64_t grain = std::max<int64_t>((int64_t{1} << 18) / (in + each * out * kernel), 1);
  parallel_for(s.batch * s.in_channels, grain, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    int64_t* taps = scratch.take<int64_t>(kernel);
    T* space = scratch.take<T>(size);
    Place* places = scratch.take<Place>(most_places<T>(w));
    PaddedPlane<T, Arch> padded(w, space, taps, T{0});
    const int64_t count = list_places(w, padded, space, places);
    for (int64_t plane = begin; plane < end; ++plane) {
      padded.load(g.x + plane * in);
      for (int64_t e = 0; e < each; ++e) {
        const int64_t channel = plane % s.in_channels * each + e;
        const int64_t base = (plane / s.in_channels * s.out_channels + channel) * out;
        const T* factors = weights + channel * kernel;
        const T* add = g.add == nullptr ? nullptr : g.add + base;
        const V bias(g.bias != nullptr ? g.bias[channel] : T{0}), lo(g.lo), hi(g.hi);
        reduce_windows<Arch>(
            space, taps, kernel, places, count, T{0}, g.y + base,
            [factors](int64_t k) {
              return [f = V(factors[k])](const V& x, const V& sum) { return simd::mul_add(f, x, sum); };
            },
            [&](const Place& place, const V& sum) {
              V y = sum + bias;
              if (add != nullptr) y = y + simd::load_n<Arch>(add + place.to, place.count);
              return simd::bound(y, lo, hi);
            });
      }
    }
  });
}

/// The extents of one group's product, and the size of its packed weights.
template <class Ops, class Arch>
struct GroupProduct {
  int64_t m, n, k, depth, packed;

  GroupProduct(const ConvGeometry& g, int64_t out_cells)
      : m(g.out_channels / g.groups),
        n(out_cells),
        k(g.in_channels / g.groups * kernel_cells<Arch>(g)),
        depth((k + Ops::per_cell - 1) / Ops::per_cell),
        packed(packed_size(m, Tile<Ops, Arch>::rows, depth)) {}
};

/// Packs the weights of all groups: pack(group, i, rows, p, depth, to) writes a panel.
template <class Ops, class Arch, class Pack>
void pack_groups(const GroupProduct<Ops, Arch>& q, int64_t groups, typename Ops::Cell* packed, Pack pack) {
  using S = Tile<Ops, Arch>;
  for (int64_t group = 0; group < groups; ++group)
    pack_whole<Arch, S::rows, S::depth>(q.m, q.depth, packed + group * q.packed,
                                        [&](int64_t i, int64_t rows, int64_t p, int64_t depth,
                                            typename Ops::Cell* to) { pack(group, i, rows, p, depth, to); });
}

/// The pack_a of a product whose A is always packed beforehand.
struct NoPack {
  template <class Cell>
  void operator()(int64_t, int64_t, int64_t, int64_t, Cell*) const {}
};

template <class Arch, class T>
void pack_weights(const ConvGeometry& g, const T* w, T* packed) {
  using Ops = Single<T>;
  const GroupProduct<Ops, Arch> q(g, 0);
  pack_groups<Ops, Arch>(q, g.groups, packed,
                         [&](int64_t group, int64_t i, int64_t rows, int64_t p, int64_t depth, T* to) {
                           const T* from = w + (group * q.m + i) * q.k + p;
                           pack_panel<Arch, Tile<Ops, Arch>::rows>(from, q.k, int64_t{1}, rows, depth, to);
                         });
}

/// Products over all images and groups, whose B panels gather_panel(input of the group, j, cols, p, depth,
/// to) packs.
template <class Ops, class Arch, class X, class GatherPanel>
void run_groups(const ConvGeometry& g, const GroupProduct<Ops, Arch>& q, const X* x, int64_t in_cells,
                const typename Ops::Cell* packed, const typename Ops::Cell* plain_b, typename Ops::Out* y,
                const typename Ops::Out* bias, const typename Ops::Out* add, typename Ops::Out lo,
                typename Ops::Out hi, const GatherPanel& gather_panel) {
  using Cell = typename Ops::Cell;
  using Out = typename Ops::Out;
  const int64_t group_in = g.in_channels / g.groups * in_cells, group_out = q.m * q.n;
  const auto product = [&](int64_t item) {
    const int64_t group = item % g.groups;
    const auto pack_b = [from = x + item * group_in, &gather_panel](int64_t j, int64_t cols, int64_t p,
                                                                    int64_t depth, Cell* to) {
      gather_panel(from, j, cols, p, depth, to);
    };
    Finish<Out> finish;
    finish.lo = lo;
    finish.hi = hi;
    if (bias != nullptr) finish.row_bias = bias + group * q.m;
    if (add != nullptr) {
      finish.beta = 1;
      finish.d = add + item * group_out;
      finish.d_row = q.n;
      finish.d_col = 1;
    }
    return Product<Ops, NoPack, decltype(pack_b)>{
        q.m,      q.n,
        q.depth,  packed + group * q.packed,
        nullptr,  {},
        pack_b,   plain_b != nullptr ? plain_b + item * group_in : nullptr,
        in_cells, y + item * group_out,
        q.n,      finish};
  };
  run_products<Ops, Arch>(product(0), g.batch * g.groups, product);
}

template <class Arch>
int64_t product_of(const int64_t* extents, int rank) {
  int64_t cells = 1;
  for (int d = 0; d < rank; ++d) cells *= extents[d];
  return cells;
}

}  // namespace tenon::kernels::conv_detail

namespace tenon::kernels {

template <class Arch, class T>
int64_t conv_packed_weight_size_impl(const ConvGeometry& g) {
  using namespace conv_detail;
  if (keeps_order<Arch, T>(g)) return g.out_channels * (g.in_channels / g.groups) * kernel_cells<Arch>(g);
  return g.groups * GroupProduct<Single<T>, Arch>(g, 0).packed;
}

template <class Arch, class T>
void conv_pack_weights_impl(const ConvGeometry& g, const T* w, T* packed) {
  using namespace conv_detail;
  if (keeps_order<Arch, T>(g)) std::copy_n(w, conv_packed_weight_size_impl<Arch, T>(g), packed);
  else pack_weights<Arch>(g, w, packed);
}

template <class Arch, class T>
void conv_impl(const ConvArgs<T>& g) {
  using namespace conv_detail;
  using Ops = Single<T>;
  using S = Tile<Ops, Arch>;
  const ConvGeometry& s = g.geometry;
  const SlidingWindow<Arch> w = window_of<Arch>(s);
  const int64_t out = w.out_cells(), in = w.in_cells(), kernel = w.kernel_cells();
  if (s.batch <= 0 || s.out_channels <= 0 || out <= 0) return;
  const T* plain = g.w;
  const T* packed = g.packed_w;
  if (keeps_order<Arch, T>(s)) {
    if (packed != nullptr) plain = packed;
    packed = nullptr;
    if constexpr (std::is_same_v<T, float>)
      if (fits_planes<Arch, T>(s) && planes_detail::run<Arch>(g, plain)) return;
    if (depthwise<Arch>(s) && kernel > 0 && fits_padded<T>(w)) return run_depthwise<Arch>(g, w, plain);
  }
  const GroupProduct<Ops, Arch> q(s, out);
  Scratch scratch;
  if (packed == nullptr) {
    T* own = scratch.take<T>(s.groups * q.packed);
    pack_weights<Arch>(s, plain, own);
    packed = own;
  }
  const bool pointwise = w.identity();  // the matrix of windows is the input
  run_groups<Ops, Arch>(s, q, g.x, in, packed, pointwise && q.m <= 2 * S::rows ? g.x : nullptr, g.y, g.bias,
                        g.add, g.lo, g.hi,
                        [&](const T* x, int64_t j, int64_t cols, int64_t p, int64_t depth, T* to) {
                          if (pointwise) {
                            pack_panel<Arch, S::cols>(x + p * in + j, int64_t{1}, in, cols, depth, to);
                            return;
                          }
                          Scratch own;
                          const WindowRows<T, Arch> rows(own, w, kernel, j, cols, p, depth);
                          rows.gather(x, depth, to, S::cols, T{0});
                        });
}

namespace conv_detail {

/// Whether phases that see the same input cells are one convolution: its rows of weights begin at whole
/// panels, or are few.
template <class Arch, class T>
bool joins_phases(const ConvGeometry& g) {
  const int64_t channels = g.out_channels / g.groups;
  return channels < 128 || channels % Tile<Single<T>, Arch>::rows == 0;
}

/// Whether a transposed convolution is made in phases: each sees a kernel cell, and windows are the input's
/// cells, or have enough output channels to be gathered for and are not mostly outside of the input.
template <class Arch>
bool fits_phases(const ConvGeometry& g) {
  const int64_t group_in = g.in_channels / g.groups, group_out = g.out_channels / g.groups;
  bool cells = true;
  int64_t grid = 1;
  for (int d = 0; d < g.rank; ++d) {
    if (g.kernel[d] < g.strides[d] || (g.strides[d] > 1 && g.dilations[d] > 1)) return false;
    cells = cells && g.kernel[d] == g.strides[d] && g.pads[d] == 0;
    grid *= (g.out[d] + g.strides[d] - 1) / g.strides[d];
  }
  return cells || (group_out >= std::min(group_in, std::max<int64_t>(group_in / 2, 16)) &&
                   grid <= 2 * product_of<Arch>(g.in, g.rank));
}

/// Whether no weight is infinite or NaN: phases multiply cells around the input, zeros that ONNX does not
/// have, with weights.
template <class Arch, class T>
bool weights_are_finite(const ConvTransposeArgs<T>& g) {
  const ConvGeometry& s = g.geometry;
  const int64_t count = s.in_channels * (s.out_channels / s.groups) * product_of<Arch>(s.kernel, s.rank);
  int finite = 1;
  for (int64_t i = 0; i < count; ++i) finite &= static_cast<int>(g.w[i] - g.w[i] == T{0});
  return finite != 0;
}

/// A transposed convolution in phases. A part is a combination of runs, one of each axis: a convolution that
/// gives (groups, phases of the part, Cout / groups) planes, each a grid of the cells of a phase.
template <class Arch, class T>
class Phases {
 public:
  Phases(Scratch& scratch, const ConvTransposeArgs<T>& args)
      : g_(args), s_(args.geometry), group_out_(s_.out_channels / s_.groups) {
    Run* runs[max_spatial];
    int64_t count[max_spatial], at[max_spatial] = {};
    for (int d = 0; d < s_.rank; ++d) {
      grid_[d] = (s_.out[d] + s_.strides[d] - 1) / s_.strides[d], ones_[d] = 1;
      runs[d] = scratch.take<Run>(s_.strides[d]);
      count[d] = transposed::list_runs(s_.kernel[d], s_.strides[d], s_.dilations[d], s_.pads[d],
                                       joins_phases<Arch, T>(s_), runs[d]);
      parts_ *= count[d], phases_ *= s_.strides[d];
    }
    part_ = scratch.take<Part>(parts_);
    phase_ = scratch.take<Phase>(phases_);
    for (int64_t p = 0; p < parts_; ++p) {
      Part& q = part_[p];
      q.phases = 1;
      for (int d = 0; d < s_.rank; ++d) {
        const Run& run = runs[d][at[d]];
        q.kernel[d] = run.taps, q.pads[d] = run.pad, q.phases *= run.count;
      }
      q.geometry = s_;
      q.geometry.out_channels *= q.phases;
      q.geometry.kernel = q.kernel, q.geometry.strides = ones_;
      q.plane = planes_;
      q.plain = keeps_order<Arch, T>(q.geometry);
      q.weights = scratch.take<T>(conv_packed_weight_size_impl<Arch, T>(q.geometry));
      q.bias = g_.bias == nullptr ? nullptr : scratch.take<T>(q.geometry.out_channels);
      for (int64_t i = 0; q.bias != nullptr && i < s_.groups * q.phases; ++i)
        std::copy_n(g_.bias + i / q.phases * group_out_, group_out_, q.bias + i * group_out_);
      int64_t in_run[max_spatial] = {};
      for (int64_t i = 0; i < q.phases; ++i) {
        int64_t index = 0, first[max_spatial];  // kernel cells
        for (int d = 0; d < s_.rank; ++d) {
          const int64_t o = runs[d][at[d]].first + in_run[d];
          index = index * s_.strides[d] + o;
          first[d] = transposed::first_cell(o, s_.strides[d], s_.pads[d]);
        }
        phase_[index] = {p, i * group_out_, planes_ + i * group_out_, list_taps(scratch, q.kernel, first)};
        step<Arch>(s_.rank, in_run, [&](int d) { return runs[d][at[d]].count; });
      }
      planes_ += q.geometry.out_channels;
      step<Arch>(s_.rank, at, [&](int d) { return count[d]; });
    }
  }

  void run() const {
    pack_weights();
    if (phases_ == 1) return convolve(part_[0], s_.batch, g_.x, grid_, 0, g_.y);
    // A task makes a slab of the first axis, whose sums stay in the second-level cache. Where all slabs would
    // be small, the threads share the work on one.
    const int64_t row = product_of<Arch>(grid_ + 1, s_.rank - 1), threads = threads_at_hand();
    const auto rows_of = [&](int64_t cells) { return std::max<int64_t>(cells / row, 1); };
    int64_t rows = rows_of(std::max<int64_t>((1 << 17) / planes_, least_cells));
    const auto slabs_of = [&] { return (grid_[0] + rows - 1) / rows; };
    if (threads > 1 && s_.batch * slabs_of() < 2 * threads)
      rows = std::max(rows_of(least_cells), std::min(rows, grid_[0] * s_.batch / (2 * threads)));
    rows = (grid_[0] - 1) / slabs_of() + 1;
    const int64_t slabs = slabs_of(), tasks = s_.batch * slabs;
    const auto make = [&](int64_t begin, int64_t end) {
      Scratch own;
      T* sums = own.take<T>(planes_ * rows * row);
      for (int64_t t = begin; t < end; ++t) make_slab(t / slabs, t % slabs * rows, rows, sums);
    };
    if (tasks < 2 * threads) make(0, tasks);
    else parallel_for(tasks, 1, make);
  }

 private:
  using Run = transposed::Run;
  struct Part {
    int64_t kernel[max_spatial], pads[max_spatial];
    ConvGeometry geometry;  ///< but for batch, extents and pads
    int64_t phases, plane;  ///< plane: the first among those of all parts
    bool plain;             ///< weights are not in panels
    T* weights;
    T* bias;  ///< or nullptr
  };
  struct Phase {
    int64_t part, row, plane;  ///< the first among the rows of the part's weights, and among all planes
    const int64_t* cells;      ///< of the kernel, one a tap
  };

  /// The kernel cells of a phase that sees `taps` of each axis, every stride-th from `first` on. Those of a
  /// convolution go the other way.
  const int64_t* list_taps(Scratch& scratch, const int64_t* taps, const int64_t* first) const {
    const int64_t count = product_of<Arch>(taps, s_.rank);
    int64_t* const cells = scratch.take<int64_t>(count);
    int64_t at[max_spatial] = {};
    for (int64_t t = 0; t < count; ++t) {
      cells[t] = 0;
      for (int d = 0; d < s_.rank; ++d)
        cells[t] = cells[t] * s_.kernel[d] + first[d] + (taps[d] - 1 - at[d]) * s_.strides[d];
      step<Arch>(s_.rank, at, [&](int d) { return taps[d]; });
    }
    return cells;
  }

  /// Some output channels and input channels at a time are turned, so that output channels are neighbours.
  void pack_weights() const {
    constexpr int64_t some_cells = 1 << 12;
    const int64_t kernel = kernel_cells<Arch>(s_), group_in = s_.in_channels / s_.groups;
    const int64_t turns = (group_out_ + R - 1) / R, most = std::max<int64_t>(some_cells / (R * kernel), 1);
    const int64_t grain = (1 << 15) / (R * kernel * std::max<int64_t>(group_in, 1)) + 1;
    for (int64_t p = 0; p < parts_; ++p) {  // the last panel's padding
      const Part& q = part_[p];
      const int64_t depth = group_in * kernel_cells<Arch>(q.geometry), m = q.phases * group_out_;
      for (int64_t group = 0; !q.plain && m % R != 0 && group < s_.groups; ++group)
        for (int64_t p0 = 0; p0 < depth; p0 += block) {
          const int64_t width = std::min(block, depth - p0);
          std::fill_n(
              q.weights + group * packed_size(m, R, depth) + packed_size(m, R, p0) + m / R * R * width,
              R * width, T{0});
        }
    }
    parallel_for(s_.groups * turns, grain, [&](int64_t begin, int64_t end) {
      Scratch own;
      T* turned = own.take<T>(most * kernel * R);
      for (int64_t task = begin; task < end; ++task) {
        const int64_t group = task / turns, co = task % turns * R,
                      rows = std::min<int64_t>(R, group_out_ - co);
        for (int64_t ci = 0; ci < group_in; ci += most) {
          const int64_t channels = std::min(most, group_in - ci);
          const T* w = g_.w + ((group * group_in + ci) * group_out_ + co) * kernel;
          for (int64_t c = 0; c < channels; ++c)
            pack_panel<Arch, R>(w + c * group_out_ * kernel, kernel, int64_t{1}, rows, kernel,
                                turned + c * kernel * R);
          for (int64_t f = 0; f < phases_; ++f)
            write_weights(phase_[f], group, phase_[f].row + co, rows, ci, channels, turned);
        }
      }
    });
  }

  /// Writes the phase's weights of rows [i, i + rows) and of `channels` input channels from ci on.
  void write_weights(const Phase& f, int64_t group, int64_t i, int64_t rows, int64_t ci, int64_t channels,
                     const T* turned) const {
    const Part& q = part_[f.part];
    const int64_t kernel = kernel_cells<Arch>(s_), taps = kernel_cells<Arch>(q.geometry);
    const int64_t depth = s_.in_channels / s_.groups * taps, m = q.phases * group_out_;
    if (q.plain) {
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t t = 0; t < taps; ++t)
            q.weights[(group * m + i + r) * depth + (ci + c) * taps + t] =
                turned[(c * kernel + f.cells[t]) * R + r];
      return;
    }
    T* const of_group = q.weights + group * packed_size(m, R, depth);
    for (int64_t r = 0, n = 0; r < rows; r += n) {
      const int64_t row = (i + r) % R;
      n = std::min(rows - r, R - row);
      const T* from = turned + r;
      T* to = nullptr;
      int64_t left = 0, t = 0;  // cells of the block of K, taps of the channel
      for (int64_t p = ci * taps; p < (ci + channels) * taps; ++p, to += R, --left) {
        if (left == 0) {
          const int64_t p0 = p / block * block, width = std::min(block, depth - p0);
          to = of_group + packed_size(m, R, p0) + (i + r - row) * width + (p - p0) * R + row;
          left = p0 + width - p;
        }
        const T* cells = from + f.cells[t] * R;
        if (n == R) __builtin_memcpy(to, cells, R * sizeof(T));
        else std::copy_n(cells, n, to);
        if (++t == taps) t = 0, from += kernel * R;
      }
    }
  }

  /// The convolution of a part, from row `first` of the grid on.
  void convolve(const Part& q, int64_t batch, const T* x, const int64_t* extents, int64_t first, T* y) const {
    int64_t pads[max_spatial];
    std::copy_n(q.pads, s_.rank, pads);
    pads[0] -= first;
    ConvArgs<T> c;
    c.geometry = q.geometry;
    c.geometry.batch = batch, c.geometry.out = extents, c.geometry.pads = pads;
    c.x = x, c.packed_w = q.weights, c.bias = q.bias, c.y = y;
    conv_impl<Arch>(c);
  }

  void make_slab(int64_t image, int64_t first, int64_t rows, T* sums) const {
    int64_t extents[max_spatial];
    std::copy_n(grid_, s_.rank, extents);
    extents[0] = std::min(rows, grid_[0] - first);
    const int64_t cells = product_of<Arch>(extents, s_.rank);
    const T* x = g_.x + image * s_.in_channels * product_of<Arch>(s_.in, s_.rank);
    const auto convolve_parts = [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        convolve(part_[p], 1, x, extents, first, sums + part_[p].plane * cells);
    };
    if (parts_ >= threads_at_hand()) parallel_for(parts_, 1, convolve_parts);
    else convolve_parts(0, parts_);
    const int64_t out = product_of<Arch>(s_.out, s_.rank);
    parallel_for(s_.out_channels, (1 << 15) / (cells * phases_) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        join(c, first, extents, cells, sums, g_.y + (image * s_.out_channels + c) * out);
    });
  }

  /// Interleaves the phases of output channel c.
  void join(int64_t c, int64_t first, const int64_t* extents, int64_t cells, const T* sums, T* y) const {
    const int inner = s_.rank - 1;
    const int64_t stride = s_.strides[inner], width = extents[inner];
    const int64_t begin = inner == 0 ? first * stride : 0,
                  n = std::min(s_.out[inner] - begin, width * stride);
    Scratch scratch;
    const T** from = scratch.take<const T*>(stride);
    int64_t start[max_spatial] = {first * s_.strides[0]};  // the outer phase, from the slab on
    for (int64_t f = 0; f < phases_; f += stride) {
      for (int64_t e = 0; e < stride; ++e) {
        const Phase& h = phase_[f + e];
        const int64_t of_group = part_[h.part].phases * group_out_;
        from[e] = sums + (h.plane + c / group_out_ * of_group + c % group_out_) * cells;
      }
      int64_t at[max_spatial] = {};
      for (int64_t r = 0; r < cells / width; ++r) {
        int64_t to = 0;
        bool inside = true;
        for (int d = 0; d < inner; ++d) {
          const int64_t o = at[d] * s_.strides[d] + start[d];
          inside = inside && o < s_.out[d];
          to = (to + o) * s_.out[d + 1];
        }
        if (inside) transposed::interleave<Arch>(from, stride, n, y + to + begin);
        for (int64_t e = 0; e < stride; ++e) from[e] += width;
        step<Arch>(inner, at, [&](int d) { return extents[d]; });
      }
      for (int d = inner - 1; d >= 0; --d) {
        const int64_t base = d == 0 ? first * s_.strides[0] : 0;
        if (++start[d] < base + s_.strides[d]) break;
        start[d] = base;
      }
    }
  }

  static constexpr int64_t least_cells = 192;  // of a slab, for whole panels of B
  static constexpr int R = Tile<Single<T>, Arch>::rows;
  static constexpr int64_t block = Tile<Single<T>, Arch>::depth;

  const ConvTransposeArgs<T>& g_;
  const ConvGeometry& s_;
  int64_t group_out_;
  int64_t grid_[max_spatial], ones_[max_spatial];  // the outputs of a phase; some of them lie outside of y
  int64_t parts_ = 1, phases_ = 1, planes_ = 0;
  Part* part_;
  Phase* phase_;
};

template <class Arch, class T>
void transpose_scattered(const ConvTransposeArgs<T>& g) {
  const ConvGeometry& s = g.geometry;
  const int64_t in = product_of<Arch>(s.in, s.rank), out = product_of<Arch>(s.out, s.rank);
  const int64_t kernel = kernel_cells<Arch>(s);
  const int64_t group_in = s.in_channels / s.groups, group_out = s.out_channels / s.groups;
  // A task owns some output channels of an image. It multiplies about 128 rows (one for each channel and
  // kernel cell) by a piece of the input that fits into the second-level cache, and adds the products to the
  // channels' planes.
  const int64_t threads = threads_at_hand(), items = s.batch * s.groups;
  const int64_t shares = threads > 1 ? (2 * threads + items - 1) / items : 1;  // of an item, at least
  const int64_t channels =
      std::clamp<int64_t>(128 / std::max<int64_t>(kernel, 1), 1, (group_out + shares - 1) / shares);
  const int64_t blocks = (group_out + channels - 1) / channels;
  const int64_t piece = std::clamp<int64_t>((int64_t{1} << 17) / std::max<int64_t>(channels * kernel, 1), 64,
                                            std::max<int64_t>(in, 64));
  parallel_for(s.batch * s.groups * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t item = t / blocks, group = item % s.groups, first = t % blocks * channels;
      const int64_t count = std::min(channels, group_out - first);
      T* y = g.y + (item * group_out + first) * out;
      for (int64_t c = 0; c < count; ++c)
        fill_run<Arch>(y + c * out, out, g.bias != nullptr ? g.bias[group * group_out + first + c] : T{0});
      Scratch scratch;
      T* sums = scratch.take<T>(count * kernel * std::min(piece, in));
      for (int64_t i = 0; i < in; i += piece) {
        const int64_t i_end = std::min(i + piece, in);
        GemmArgs<T> product;
        product.m = count * kernel, product.n = i_end - i, product.k = group_in;
        product.a = g.w + (group * group_in * group_out + first) * kernel;
        product.a_row = 1, product.a_col = group_out * kernel;
        product.b = g.x + item * group_in * in + i, product.b_row = in;
        product.c = sums, product.c_row = i_end - i;
        gemm_impl<Arch>(product);
        int64_t at[max_spatial] = {};
        for (int64_t k = 0; k < kernel; ++k) {
          for (int64_t c = 0; c < count; ++c)
            transposed::scatter_row<Arch>(s, at, sums + (c * kernel + k) * (i_end - i), i, i_end,
                                          y + c * out);
          step<Arch>(s.rank, at, [&](int d) { return s.kernel[d]; });
        }
      }
    }
  });
}

}  // namespace conv_detail

template <class Arch, class T>
void conv_transpose_impl(const ConvTransposeArgs<T>& g) {
  using namespace conv_detail;
  const ConvGeometry& s = g.geometry;
  if (s.batch <= 0 || s.out_channels <= 0 || product_of<Arch>(s.out, s.rank) <= 0) return;
  if (!fits_phases<Arch>(s) || !weights_are_finite<Arch>(g)) return transpose_scattered<Arch>(g);
  Scratch scratch;
  Phases<Arch, T>(scratch, g).run();
}

}  // namespace tenon::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::kernels {

#define TENON_CONV(T)                                                                            \
  template void conv_impl<TENON_INSTANTIATE, T>(const ConvArgs<T>&);                             \
  template int64_t conv_packed_weight_size_impl<TENON_INSTANTIATE, T>(const ConvGeometry&);      \
  template void conv_pack_weights_impl<TENON_INSTANTIATE, T>(const ConvGeometry&, const T*, T*); \
  template void conv_transpose_impl<TENON_INSTANTIATE, T>(const ConvTransposeArgs<T>&);
TENON_CONV(float)
TENON_CONV(double)
#undef TENON_CONV

}  // namespace tenon::kernels
#endif
