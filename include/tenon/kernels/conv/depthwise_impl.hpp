// Depthwise convolutions over blocks of channels, and convolutions of groups that share a block: bodies.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/blocked.hpp"
#include "tenon/kernels/conv/cell_tile.hpp"
#include "tenon/kernels/variants.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels::depthwise_detail {

using cell_detail::CellEnd;
using cell_detail::copy_cells;
using cell_detail::most_cells;
using cell_detail::share_begin;
using cell_detail::TapRange;
using cell_detail::tasks_for;
using cell_detail::up;
using simd::batch;
using simd::lanes;

/// The taps that a depthwise cell sums. In groups of several channels each output joins all channels of its
/// group: lane i reads channel j from lane lane[j * lanes + i] of the cell.
template <class T>
struct DepthwiseTaps {
  int64_t rows, cols;           ///< kernel cells, all of them inside of the image
  int64_t x_row, x_col, w_row;  ///< strides of kernel rows and columns in x, and of rows in w
  int64_t channels, w_channel;  ///< of a group, and their stride in w
  const uint32_t* lane;
};

/// Cells that depthwise kernels compute side by side: at least enough to hide the latency of a sum.
template <class Arch>
inline constexpr int depthwise_cells = std::max(most_cells<Arch>(1), 8);

/// R neighbouring cells of a block, whose windows are `x_step` apart. K and S are the kernel's columns and
/// their stride, if known and the columns are contiguous: each cell is then loaded once for all windows that
/// see it. Otherwise K is 0. `joins`: groups have more than one channel.
template <class T, class Arch, int K, int S, bool joins, int R>
void compute_depthwise(const DepthwiseTaps<T>& taps, const T* x, int64_t x_step, const T* w,
                       const CellEnd<T>& end) {
  using B = batch<T, Arch>;
  constexpr int L = lanes<T, Arch>;
  B sum[R];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) sum[r] = B(T{0});
  for (int64_t i = 0; i < taps.rows; ++i, x += taps.x_row, w += taps.w_row) {
    const T* w_row = w;
    for (int64_t c = 0; c < (joins ? taps.channels : 1); ++c, w_row += taps.w_channel) {
      const auto lane = batch<uint32_t, Arch>::load_aligned(taps.lane + c * L);
      const auto load = [&](const T* cell) {
        if constexpr (joins) return simd::pick_lanes(B(simd::loadu<Arch>(cell)), lane);
        else return B(simd::loadu<Arch>(cell));
      };
      if constexpr (K > 0) {
        B weight[K];
#pragma GCC unroll 5
        for (int j = 0; j < K; ++j) weight[j] = simd::loadu<Arch>(w_row + j * L);
#pragma GCC unroll 31
        for (int j = 0; j < (R - 1) * S + K; ++j) {
          const B cell = simd::in_register(load(x + j * L));
#pragma GCC unroll 16
          for (int r = 0; r < R; ++r)
            if (j >= r * S && j < r * S + K) sum[r] = simd::mul_add(cell, weight[j - r * S], sum[r]);
        }
      } else {
        const T* cell = x;
        for (int64_t j = 0; j < taps.cols; ++j, cell += taps.x_col) {
          const B weight = simd::loadu<Arch>(w_row + j * L);
#pragma GCC unroll 16
          for (int r = 0; r < R; ++r) sum[r] = simd::mul_add(load(cell + r * x_step), weight, sum[r]);
        }
      }
    }
  }
  const B bias = end.bias != nullptr ? B(simd::loadu<Arch>(end.bias)) : B(T{0}), lo(end.lo), hi(end.hi);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    B y = sum[r] + bias;
    if (end.add != nullptr) y = y + simd::loadu<Arch>(end.add + r * L);
    simd::storeu(end.y + r * L, simd::bound(y, lo, hi));
  }
}

template <class T>
using DepthwiseFunction = void (*)(const DepthwiseTaps<T>&, const T*, int64_t, const T*, const CellEnd<T>&);

/// The family of variants of depthwise_functions.
template <int K, int S, bool joins>
inline constexpr int depthwise_family = 6 + (joins ? 5 : 0) + (K == 0 ? 0 : K - 3 + S);

/// Indexed by cells - 1.
template <class T, class Arch, int K, int S, bool joins>
inline constexpr auto depthwise_functions = []<int... I>(std::integer_sequence<int, I...>) {
  const auto function = []<int R>(std::integral_constant<int, R>) -> DepthwiseFunction<T> {
    if constexpr (has_variant(depthwise_family<K, S, joins>, R))
      return &compute_depthwise<T, Arch, K, S, joins, R>;
    else return nullptr;
  };
  return std::array<DepthwiseFunction<T>, sizeof...(I)>{function(std::integral_constant<int, I + 1>{})...};
}(std::make_integer_sequence<int, depthwise_cells<Arch>>{});

/// The functions for windows at the image's border, one by one, and for windows with all columns inside.
template <class T, class Arch>
struct DepthwiseFunctions {
  DepthwiseFunction<T> border;
  const DepthwiseFunction<T>* inside;
  int family;  ///< of `inside`

  DepthwiseFunctions(const ConvGeometry& g, bool joins) {
    if (joins) choose<true>(g);
    else choose<false>(g);
  }

 private:
  template <bool joins>
  void choose(const ConvGeometry& g) {
    border = depthwise_functions<T, Arch, 0, 0, joins>[0];
    set<0, 0, joins>();
    const int64_t kernel = g.dilations[1] == 1 ? g.kernel[1] : 0, stride = g.strides[1];
    if (kernel == 3 && stride == 1) set<3, 1, joins>();
    if (kernel == 3 && stride == 2) set<3, 2, joins>();
    if constexpr (!joins) {
      if (kernel == 5 && stride == 1) set<5, 1, joins>();
      if (kernel == 5 && stride == 2) set<5, 2, joins>();
    }
  }
  template <int K, int S, bool joins>
  void set() {
    inside = depthwise_functions<T, Arch, K, S, joins>.data();
    family = depthwise_family<K, S, joins>;
  }
};

}  // namespace tenon::TENON_ABI::kernels::depthwise_detail

namespace tenon::TENON_ABI::kernels {

template <class Arch, class T>
void depthwise_conv_impl(const BlockedConvArgs<T>& a) {
  using namespace depthwise_detail;
  constexpr int L = lanes<T, Arch>;
  const ConvGeometry& g = a.geometry;
  const int64_t in_cells = g.in[0] * g.in[1], out_cells = g.out[0] * g.out[1],
                taps = g.kernel[0] * g.kernel[1], width = narrow_group(g, L),
                x_plane = a.x_plane > 0 ? a.x_plane : in_cells,
                y_plane = a.y_plane > 0 ? a.y_plane : out_cells;
  const int64_t blocks = up(g.out_channels, L);
  alignas(64) uint32_t lane[L / 2 * L];
  for (int64_t i = 0; i < width * L; ++i) lane[i] = static_cast<uint32_t>(i % L / width * width + i / L);
  // Output columns whose windows are inside of the image.
  int64_t left = 0, right = g.out[1];
  const auto inside = [&](int64_t o) {
    const TapRange t(g, 1, o);
    return t.begin == 0 && t.end == g.kernel[1];
  };
  while (left < right && !inside(left)) ++left;
  while (right > left && !inside(right - 1)) --right;
  // Cells at the borders are computed one by one. If they would dominate, rows are copied with zero padding
  // instead; with strides that would take longer.
  const int64_t seen = (g.out[1] - 1) * g.strides[1] + (g.kernel[1] - 1) * g.dilations[1] + 1;
  const bool copies = g.strides[1] == 1 && 8 * (left + g.out[1] - right) >= g.out[1] && seen <= 2 * g.in[1];
  if (copies) left = 0, right = g.out[1];
  const double products =
      static_cast<double>(g.batch * blocks * L) * static_cast<double>(out_cells * taps * width);
  const int64_t all = g.batch * blocks, tasks = 4 * tasks_for<Arch>(4 * products, 1);
  // Adjacent pointwise convolutions cut their work in the same way, so that threads find most of their cells
  // in their own caches.
  const int64_t threads = threads_at_hand();
  const bool by_rows = threads > 1 && out_cells > g.out_channels;
  const int64_t bands = std::min(by_rows ? up(up(tasks, all), threads) * threads : up(tasks, all), g.out[0]);
  const DepthwiseFunctions<T, Arch> functions(g, width > 1);
  parallel_for(all * bands, up(all * bands, tasks), [&](int64_t task, int64_t stop) {
    for (; task < stop; ++task) {
      const int64_t of_image = task % (blocks * bands);
      const int64_t band = by_rows ? of_image / blocks : of_image % bands,
                    block = by_rows ? of_image % blocks : of_image / bands,
                    item = task / (blocks * bands) * blocks + block;
      const int64_t row = share_begin(band, bands, g.out[0]),
                    row_end = share_begin(band + 1, bands, g.out[0]);
      const T* w = a.packed_w + block * width * taps * L;
      // The cells that are read, starting at cell (first_row, first_col) of the image.
      const T* cells = a.x + item * x_plane * L;
      int64_t first_row = 0, first_col = 0, x_row = g.in[1];
      Scratch scratch;
      if (copies) {
        const int64_t end_row = std::min(
            (row_end - 1) * g.strides[0] - g.pads[0] + (g.kernel[0] - 1) * g.dilations[0] + 1, g.in[0]);
        first_row = std::max<int64_t>(row * g.strides[0] - g.pads[0], 0), first_col = -g.pads[1];
        x_row = seen;
        T* space = scratch.take<T>(std::max<int64_t>(end_row - first_row, 0) * seen * L);
        for (int64_t r = first_row; r < end_row; ++r)
          copy_cells<T, Arch>(cells + r * g.in[1] * L, g.in[1], first_col, 1, seen,
                              space + (r - first_row) * seen * L);
        cells = space;
      }
      DepthwiseTaps<T> t;
      t.x_row = g.dilations[0] * x_row * L, t.x_col = g.dilations[1] * L, t.w_row = g.kernel[1] * L;
      t.channels = width, t.w_channel = taps * L, t.lane = lane;
      CellEnd<T> end{};
      end.bias = a.bias == nullptr ? nullptr : a.bias + block * L;
      end.lo = a.lo, end.hi = a.hi;
      for (int64_t r = row; r < row_end; ++r) {
        const TapRange down(g, 0, r);
        t.rows = down.end - down.begin;
        const int64_t from =
            (r * g.strides[0] - g.pads[0] + down.begin * g.dilations[0] - first_row) * x_row - g.pads[1] -
            first_col;
        const T* w_row = w + down.begin * g.kernel[1] * L;
        const int64_t to = (item * y_plane + r * g.out[1]) * L;
        const auto compute = [&](DepthwiseFunction<T> function, int64_t col, int64_t tap, int64_t tap_end) {
          t.cols = tap_end - tap;
          end.y = a.y + to + col * L;
          end.add = a.add == nullptr ? nullptr : a.add + to + col * L;
          function(t, cells + (from + col * g.strides[1] + tap * g.dilations[1]) * L, g.strides[1] * L,
                   w_row + tap * L, end);
        };
        const auto compute_border = [&](int64_t col, int64_t end_col) {
          for (; col < end_col; ++col) {
            const TapRange across(g, 1, col);
            compute(functions.border, col, across.begin, across.end);
          }
        };
        compute_border(0, left);
        for (int64_t col = left; col < right;) {
          const int64_t tiles = up(right - col, depthwise_cells<Arch>);
          const int64_t count = use_variant(functions.family, functions.inside, up(right - col, tiles));
          compute(functions.inside[count - 1], col, 0, g.kernel[1]);
          col += count;
        }
        compute_border(right, g.out[1]);
        a.activation(a.y + to, g.out[1] * L);
      }
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

template void depthwise_conv_impl<TENON_INSTANTIATE, float>(const BlockedConvArgs<float>&);

}  // namespace tenon::TENON_ABI::kernels
#endif
