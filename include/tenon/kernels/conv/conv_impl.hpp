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

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/conv.hpp"
#include "tenon/kernels/conv/geometry.hpp"
#include "tenon/kernels/conv/planes.hpp"
#include "tenon/kernels/conv/sliding.hpp"
#include "tenon/kernels/gemm/blocks.hpp"
#include "tenon/kernels/gemm/pack.hpp"
#include "tenon/kernels/gemm/tile.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels::conv_detail {

using gemm_detail::block_depth;
using gemm_detail::Finish;
using gemm_detail::pack_panel;
using gemm_detail::pack_whole;
using gemm_detail::packed_size;
using gemm_detail::Product;
using gemm_detail::run_products;
using gemm_detail::Single;
using gemm_detail::Tile;
using sliding::Axis;
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

/// Gathers rows of the window matrix for a range of output cells, in segments of up to one vector. A row
/// belongs to a channel, a kernel place in the outer axes and a kernel place in the innermost axis. Its cells
/// have the same offsets in every channel: the outer place determines a segment's input row, if any, and the
/// inner place the lanes inside that row. Both are computed once.
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
    int64_t outer = outer_at_, inner = inner_at_;  // indices in the kernel
    int64_t e = 0, i = 0;                          // and in the tables, which start there
    for (int64_t k = 0; k < depth; ++k, to += to_step) {
      const Row* row = rows_ + e * segments_;
      const uint64_t* inside = inside_ + i * segments_;
      const T* shifted = plane + inner * inner_.dilation;
      if (inner == 0 && k < last_ahead)
        for (int64_t s = 0; s < segments_; ++s) TENON_PREFETCH(shifted + ahead + row[s].from, 0, 3);
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

/// Gathers the windows of an axis with any stride whose cells are adjacent in the input: a window is then a
/// row of a matrix that lies in each channel, its rows a stride apart, and a panel is this matrix's
/// transpose.
template <class Arch>
struct AdjacentWindows {
  const Axis& axis;

  explicit AdjacentWindows(const SlidingWindow<Arch>& w) : axis(w.inner()), fits_(w.rank == 1) {}

  /// Whether the windows of output cells [j, j + cols) are inside the input, and no other form is faster.
  template <class T>
  bool serve(int64_t j, int64_t cols) const {
    return fits_ && axis.dilation == 1 && axis.stride > 2 && axis.kernel >= simd::tile_side<T> &&
           j * axis.stride >= axis.pad && (j + cols - 1) * axis.stride - axis.pad + axis.kernel <= axis.in;
  }

  /// Rows [p, p + depth) of the window matrix of x (channels, cells).
  template <int width, class T>
  void pack(const T* x, int64_t j, int64_t cols, int64_t p, int64_t depth, T* to) const {
    const T* first = x + j * axis.stride - axis.pad;
    for (int64_t done = 0, rows; done < depth; done += rows) {
      const int64_t channel = (p + done) / axis.kernel, cell = (p + done) % axis.kernel;
      rows = std::min(axis.kernel - cell, depth - done);
      pack_panel<Arch, width>(first + channel * axis.in + cell, axis.stride, int64_t{1}, cols, rows,
                              to + done * width);
    }
  }

 private:
  bool fits_;
};

/// Computes each output channel from one input channel: taps over a padded copy.
template <class Arch, class T>
void run_depthwise(const ConvArgs<T>& g, const SlidingWindow<Arch>& w, const T* weights) {
  using V = simd::batch<T, Arch>;
  const ConvGeometry& s = g.geometry;
  const int64_t in = w.in_cells(), out = w.out_cells(), kernel = w.kernel_cells();
  const int64_t each = s.out_channels / s.groups;  // outputs of an input channel
  const int64_t size = PaddedPlane<T, Arch>::size(w, std::numeric_limits<int64_t>::max() - 1);
  const int64_t grain = std::max<int64_t>(2 * task_work::products / (in + each * out * kernel), 1);
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

/// The extents of one group's product, and its packed weights' size.
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
  for (int64_t group = 0; group < groups; ++group)
    pack_whole<Arch, Tile<Ops, Arch>::rows>(
        q.m, q.depth, block_depth<Ops, Arch>(q.depth), packed + group * q.packed,
        [&](int64_t i, int64_t rows, int64_t p, int64_t depth, typename Ops::Cell* to) {
          pack(group, i, rows, p, depth, to);
        });
}

/// The pack_a of a product whose A is always packed in advance.
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

}  // namespace tenon::TENON_ABI::kernels::conv_detail

namespace tenon::TENON_ABI::kernels {

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
    if (depthwise<Arch>(s) && kernel > 0) {
      if constexpr (std::is_same_v<T, float>)
        if (planes_detail::fits_rows<Arch, T>(s)) return planes_detail::run_rows<Arch>(g, plain);
      if (fits_padded<T>(w)) return run_depthwise<Arch>(g, w, plain);
    }
  }
  const GroupProduct<Ops, Arch> q(s, out);
  Scratch scratch;
  if (packed == nullptr) {
    T* own = scratch.take<T>(s.groups * q.packed);
    pack_weights<Arch>(s, plain, own);
    packed = own;
  }
  const bool pointwise = w.identity();  // the matrix of windows is the input
  const AdjacentWindows<Arch> adjacent(w);
  run_groups<Ops, Arch>(s, q, g.x, in, packed, pointwise && q.m <= 2 * S::rows ? g.x : nullptr, g.y, g.bias,
                        g.add, g.lo, g.hi,
                        [&](const T* x, int64_t j, int64_t cols, int64_t p, int64_t depth, T* to) {
                          if (pointwise) {
                            pack_panel<Arch, S::cols>(x + p * in + j, int64_t{1}, in, cols, depth, to);
                            return;
                          }
                          if (adjacent.template serve<T>(j, cols))
                            return adjacent.template pack<S::cols>(x, j, cols, p, depth, to);
                          Scratch own;
                          const WindowRows<T, Arch> rows(own, w, kernel, j, cols, p, depth);
                          rows.gather(x, depth, to, S::cols, T{0});
                        });
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

#define TENON_CONV(T)                                                                       \
  template void conv_impl<TENON_INSTANTIATE, T>(const ConvArgs<T>&);                        \
  template int64_t conv_packed_weight_size_impl<TENON_INSTANTIATE, T>(const ConvGeometry&); \
  template void conv_pack_weights_impl<TENON_INSTANTIATE, T>(const ConvGeometry&, const T*, T*);
TENON_CONV(float)
TENON_CONV(double)
#undef TENON_CONV

}  // namespace tenon::TENON_ABI::kernels
#endif
