// Convolutions with few output channels in a group, over planes as they lie: 3 x 3, 5 x 5 and 7 x 7 cells
// side by side, strides 1 and 2.
//
// Neighbouring cells of an output row are lanes. A tile sums some output rows at once, so that the cells of
// an input row are loaded once for all rows that see them; cells beside the image are masked off, and rows
// above and below it are a row of zeros. Where a row fills no more than half of a vector of 16 lanes, two
// rows of a tile share one. The order of a sum, by kernel rows and then columns, does not depend on its place
// in a tile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/sliding.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::kernels {

template <class T>
struct ConvArgs;  // conv.hpp, which includes this header

}  // namespace tenon::kernels

namespace tenon::kernels::planes_detail {

using sliding::steps_to_zero;

/// Output rows of a tile: 32 registers hold 8 sums and the weights of 3 x 3 cells, or 4 sums and 5 x 5
/// weights.
template <class Arch, int K>
inline constexpr int tile_rows = Arch::registers == 32 && K != 5 ? 8 : 4;

/// Of a tile: where its sums begin and end.
template <class T>
struct TileEnd {
  const T* start;  ///< the numbers to which products are added, laid out like y; nullptr: zeros
  T* y;            ///< the first row; the others follow it
  int64_t rows;    ///< that exist, up to tile_rows
  bool ends;       ///< the bias and the bounds come to the sums
  T bias, lo, hi;
};

/// Bits of the first `count` lanes whose input column, `from` for lane 0, is inside of the image.
template <class Arch, int S>
uint64_t lanes_inside(int64_t from, int64_t in_cols, int64_t count) {
  const int64_t head = std::min(steps_to_zero(from, S), count);
  const int64_t end = std::min(steps_to_zero(from - in_cols, S), count);
  return head < end ? (~uint64_t{0} >> (64 - (end - head))) << head : 0;
}

/// Adds what a tile of output rows sees of one input plane, through K x K cells with strides S. `row` has the
/// (tile_rows - 1) * S + K input rows.
template <class Arch, int K, int S, class T>
void sum_rows(const T* const* row, int64_t in_cols, int64_t pad, int64_t out_cols, const T* w,
              const TileEnd<T>& end) {
  using B = simd::batch<T, Arch>;
  constexpr int L = simd::lanes<T, Arch>;
  constexpr int R = tile_rows<Arch, K>;
  B weight[K * K];
#pragma GCC unroll 49
  for (int k = 0; k < K * K; ++k) weight[k] = B(w[k]);
  const B bias(end.bias), lo(end.lo), hi(end.hi);
  for (int64_t col = 0; col < out_cols; col += L) {
    const int64_t from = col * S - pad, count = std::min<int64_t>(L, out_cols - col);
    B sum[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
      sum[r] = end.start == nullptr || r >= end.rows
                   ? B(T{0})
                   : B(simd::load_n<Arch>(end.start + r * out_cols + col, count));
    // load(p, j, x) gives x[j], what kernel column j sees of the row p; with strides of two, columns 1 and 2,
    // 3 and 4, ... are the even and the odd cells of two vectors, and x[j + 1] comes with x[j].
    const auto add_rows = [&](auto load) {
#pragma GCC unroll 21
      for (int i = 0; i < (R - 1) * S + K; ++i) {
        B x[K];
#pragma GCC unroll 7
        for (int j = 0; j < K; ++j) {
          if (S == 1 || j == 0 || j % 2 == 1) load(row[i] + from, j, x);
          const B seen = simd::in_register(x[j]);
#pragma GCC unroll 8
          for (int r = 0; r < R; ++r)
            if (i >= r * S && i < r * S + K)
              sum[r] = simd::mul_add(seen, weight[(i - r * S) * K + j], sum[r]);
        }
      }
    };
    if (from >= 0 && from + (L - 1) * S + K <= in_cols) {
      add_rows([](const T* p, int j, B(&x)[K]) {
        if constexpr (S == 1) x[j] = simd::loadu<Arch>(p + j);
        else if (j == 0) x[0] = simd::load_even<Arch>(p);
        else simd::split_pairs(B(simd::loadu<Arch>(p + j)), B(simd::loadu<Arch>(p + j + L)), x[j], x[j + 1]);
      });
    } else {
      // Columns of the vectors that begin at kernel column j, and of those behind them.
      uint64_t inside[K], next[K];
#pragma GCC unroll 7
      for (int j = 0; j < K; ++j) {
        inside[j] = lanes_inside<Arch, 1>(from + j, in_cols, L);
        next[j] = lanes_inside<Arch, 1>(from + j + L, in_cols, L);
      }
      const uint64_t even = simd::even_masks<T, Arch>(lanes_inside<Arch, 2>(from, in_cols, L));
      add_rows([&](const T* p, int j, B(&x)[K]) {
        const auto masked = [](const T* q, uint64_t bits) {
          return B(simd::load_masked<Arch>(q, bits, T{0}));
        };
        if constexpr (S == 1) x[j] = masked(p + j, inside[j]);
        else if (j == 0) x[0] = simd::load_even_masked<Arch>(p, even);
        else simd::split_pairs(masked(p + j, inside[j]), masked(p + j + L, next[j]), x[j], x[j + 1]);
      });
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      if (r >= end.rows) break;
      if (end.ends) sum[r] = simd::bound(sum[r] + bias, lo, hi);
      if (count == L) simd::storeu(end.y + r * out_cols + col, sum[r]);
      else simd::store_n(end.y + r * out_cols + col, sum[r], count);
    }
  }
}

/// Whether sum_half_rows computes rows: all that one sees lies in a vector, and what it gives in half of one.
template <class Arch, int K, int S, class T>
bool fits_half_rows(int64_t out_cols) {
  constexpr int L = simd::lanes<T, Arch>;
  return L == 16 && out_cols <= L / 2 && (out_cols - 1) * S + K <= L;
}

/// sum_rows where fits_half_rows: the first half of the tile's rows in lower halves of vectors, and the
/// second in upper ones.
template <class Arch, int K, int S, class T>
void sum_half_rows(const T* const* row, int64_t in_cols, int64_t pad, int64_t out_cols, const T* w,
                   const TileEnd<T>& end) {
  using B = simd::batch<T, Arch>;
  constexpr int L = simd::lanes<T, Arch>;
  constexpr int R = tile_rows<Arch, K> / 2;
  const uint64_t inside = lanes_inside<Arch, 1>(-pad, in_cols, L);
  B sum[R];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    const auto start = [&](int64_t at) {
      return end.start == nullptr || at >= end.rows
                 ? B(T{0})
                 : B(simd::load_n<Arch>(end.start + at * out_cols, out_cols));
    };
    sum[r] = simd::pick_each<0, 1>(start(r), start(r + R));
  }
#pragma GCC unroll 13
  for (int i = 0; i < (R - 1) * S + K; ++i) {
    const B upper = simd::load_masked<Arch>(row[i] - pad, inside, T{0});
    const B lower = simd::load_masked<Arch>(row[i + R * S] - pad, inside, T{0});
    [&]<int... j>(std::integer_sequence<int, j...>) {
      const B x[] = {simd::pick_each<j, S>(upper, lower)...};
#pragma GCC unroll 7
      for (int k = 0; k < K; ++k)
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
          if (i >= r * S && i < r * S + K) sum[r] = simd::mul_add(x[k], B(w[(i - r * S) * K + k]), sum[r]);
    }(std::make_integer_sequence<int, K>{});
  }
  const B bias(end.bias), lo(end.lo), hi(end.hi);
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    if (end.ends) sum[r] = simd::bound(sum[r] + bias, lo, hi);
    if (r < end.rows) simd::store_n(end.y + r * out_cols, sum[r], out_cols);
    if (r + R < end.rows)
      simd::store_n(end.y + (r + R) * out_cols, B(simd::pick_each<L / 2, 1>(sum[r], sum[r])), out_cols);
  }
}

/// Computes the convolution with weights (Cout, Cin / groups, K, K).
template <class Arch, int K, int S, class T>
void run(const ConvArgs<T>& a, const T* weights) {
  const auto& g = a.geometry;
  constexpr int R = tile_rows<Arch, K>;
  const int64_t in_cols = g.in[1], out_rows = g.out[0], out_cols = g.out[1];
  const int64_t in_cells = g.in[0] * in_cols, out_cells = out_rows * out_cols;
  const int64_t depth = g.in_channels / g.groups, group_outputs = g.out_channels / g.groups;
  const int64_t tiles = (out_rows + R - 1) / R;
  const bool halves = fits_half_rows<Arch, K, S, T>(out_cols);
  constexpr int64_t L = simd::lanes<T, Arch>;
  const int64_t lanes = halves ? L / 2 : (out_cols + L - 1) / L * L;
  const int64_t products = R * lanes * K * K * depth;
  parallel_for(g.batch * g.out_channels * tiles, std::max<int64_t>((int64_t{1} << 17) / products, 1),
               [&](int64_t begin, int64_t stop) {
                 Scratch scratch;
                 T* zeros = scratch.take<T>(in_cols);
                 std::fill_n(zeros, in_cols, T{0});
                 int64_t plane = begin / tiles, tile = begin % tiles;
                 for (; begin < stop; ++begin, ++tile) {
                   if (tile == tiles) ++plane, tile = 0;
                   const int64_t channel = plane % g.out_channels, first = tile * R;
                   const int64_t to = plane * out_cells + first * out_cols;
                   TileEnd<T> end;
                   end.start = a.add == nullptr ? nullptr : a.add + to, end.y = a.y + to;
                   end.rows = std::min<int64_t>(R, out_rows - first);
                   end.bias = a.bias == nullptr ? T{0} : a.bias[channel];
                   end.lo = a.lo, end.hi = a.hi;
                   const T* x = a.x + plane / group_outputs * depth * in_cells;
                   for (int64_t c = 0; c < depth; ++c, x += in_cells, end.start = end.y) {
                     const T* row[(R - 1) * S + K];
                     int64_t at = first * S - g.pads[0];
                     for (const T*& r : row) {
                       r = at >= 0 && at < g.in[0] ? x + at * in_cols : zeros;
                       ++at;
                     }
                     end.ends = c + 1 == depth;
                     const T* const w = weights + (channel * depth + c) * K * K;
                     if constexpr (L == 16)
                       if (halves) {
                         sum_half_rows<Arch, K, S>(row, in_cols, g.pads[1], out_cols, w, end);
                         continue;
                       }
                     sum_rows<Arch, K, S>(row, in_cols, g.pads[1], out_cols, w, end);
                   }
                 }
               });
}

/// Computes the convolution, or nothing and false where strides or dilations do not fit.
template <class Arch, class T>
bool run(const ConvArgs<T>& a, const T* weights) {
  const auto& g = a.geometry;
  if (g.dilations[0] != 1 || g.dilations[1] != 1 || g.strides[0] != g.strides[1] || g.strides[0] > 2)
    return false;
  const auto with_stride = [&]<int K>(std::integral_constant<int, K>) {
    if (g.strides[0] == 1) run<Arch, K, 1>(a, weights);
    else run<Arch, K, 2>(a, weights);
  };
  if (g.kernel[0] == 3) with_stride(std::integral_constant<int, 3>{});
  else if (g.kernel[0] == 5) with_stride(std::integral_constant<int, 5>{});
  else with_stride(std::integral_constant<int, 7>{});
  return true;
}

}  // namespace tenon::kernels::planes_detail
