// Convolutions with few output channels per group, over planes in place: 3 x 3, 5 x 5 and 7 x 7 cells without
// dilation, strides 1 and 2; and depthwise ones over rows.
//
// Neighbouring cells of an output row are lanes. A tile sums several output rows at once, so that the cells
// of an input row are loaded once for all rows that see them; cells left and right of the image are masked
// off, and rows above and below it read a row of zeros. If a row fills no more than half of a vector of 16
// lanes, two rows of a tile share one. The order of a sum, by kernel rows and then columns, does not depend
// on its place in a tile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/geometry.hpp"
#include "tenon/kernels/conv/sliding.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels {

template <class T>
struct ConvArgs;  // conv.hpp, which includes this header

}  // namespace tenon::TENON_ABI::kernels

namespace tenon::TENON_ABI::kernels::planes_detail {

using sliding::lanes_inside;

/// Output rows of a tile with stride S. 7, used where registers suffice, divides the heights of most
/// networks' images.
template <class Arch, int S>
inline constexpr int tile_rows = Arch::registers == 32 && S == 1 ? 7 : 4;

/// Output rows of a tile whose vectors hold two rows.
inline constexpr int half_tile_rows = 8;

/// One input plane's contribution to one output plane, through K x K cells.
template <class T>
struct PlaneSum {
  const T* x;
  int64_t in_rows, in_cols, pad_top, pad_left;
  const T* zeros;  ///< in_cols of them, for the rows outside the image
  const T* w;
  const T* start;  ///< the plane to which products are added; nullptr: zeros
  T* y;            ///< `start` may be the same
  int64_t out_cols;
  bool ends;  ///< the bias and the bounds are applied to the sums
  T bias, lo, hi;
};

/// The input rows from row `at` on.
template <class Arch, class T, int n>
inline void list_rows(const PlaneSum<T>& plane, int64_t at, const T* (&row)[n]) {
  const T *from = plane.x + at * plane.in_cols, *zeros = plane.zeros;
  const auto rows = static_cast<uint64_t>(plane.in_rows);
  for (int i = 0; i < n; ++i) {
    row[i] = static_cast<uint64_t>(at + i) < rows ? from : zeros;
    from += plane.in_cols;
  }
}

/// Starts the sums of `rows` rows of `count` cells each, from cell `at` on. Always inlined, like end_sums,
/// because g++ would otherwise keep the sums in memory.
template <class Arch, class T, int R, class B>
TENON_ALWAYS_INLINE inline void start_sums(const PlaneSum<T>& plane, int64_t at, int64_t rows, int64_t count,
                                           B (&sum)[R]) {
#pragma GCC unroll 7
  for (int r = 0; r < R; ++r)
    sum[r] = plane.start == nullptr || r >= rows
                 ? B(T{0})
                 : B(simd::load_n<Arch>(plane.start + at + r * plane.out_cols, count));
}

/// Bounds and stores sums that start_sums began.
template <class Arch, class T, int R, class B>
TENON_ALWAYS_INLINE inline void end_sums(const PlaneSum<T>& plane, int64_t at, int64_t rows, int64_t count,
                                         B (&sum)[R]) {
  if (plane.ends) {
    const B bias(plane.bias), lo(plane.lo), hi(plane.hi);
#pragma GCC unroll 7
    for (int r = 0; r < R; ++r) sum[r] = simd::bound(sum[r] + bias, lo, hi);
  }
  T* y = plane.y + at;
  const int64_t step = plane.out_cols;
  if (rows == R && count == simd::lanes<T, Arch>) {
#pragma GCC unroll 7
    for (int r = 0; r < R; ++r) simd::storeu(y + r * step, sum[r]);
    return;
  }
#pragma GCC unroll 7
  for (int r = 0; r < R; ++r)
    if (r < rows) simd::store_n(y + r * step, sum[r], count);
}

/// Computes output rows [begin, end) with stride S.
template <class Arch, int K, int S, class T>
void sum_rows(const PlaneSum<T>& plane, int64_t begin, int64_t end) {
  using B = simd::batch<T, Arch>;
  constexpr int L = simd::lanes<T, Arch>;
  constexpr int R = tile_rows<Arch, S>;
  const int64_t in_cols = plane.in_cols, out_cols = plane.out_cols;
  B weight[K * K];
#pragma GCC unroll 49
  for (int k = 0; k < K * K; ++k) weight[k] = B(plane.w[k]);
  for (int64_t first = begin; first < end; first += R) {
    const int64_t rows = std::min<int64_t>(R, end - first);
    const T* row[(R - 1) * S + K];
    list_rows<Arch>(plane, first * S - plane.pad_top, row);
    for (int64_t col = 0; col < out_cols; col += L) {
      const int64_t from = col * S - plane.pad_left, count = std::min<int64_t>(L, out_cols - col);
      B sum[R];
      start_sums<Arch>(plane, first * out_cols + col, rows, count, sum);
      // load(p, j, x) sets x[j], the cells of row p that kernel column j sees; with stride 2, columns 1 and
      // 2, 3 and 4, ... are the even and odd cells of two vectors, and x[j + 1] is set along with x[j].
      const auto add_rows = [&](auto load) {
#pragma GCC unroll 13
        for (int i = 0; i < (R - 1) * S + K; ++i) {
          const T* p = simd::in_register(row[i] + from);
          B x[K];
#pragma GCC unroll 7
          for (int j = 0; j < K; ++j) {
            if (S == 1 || j == 0 || j % 2 == 1) load(p, j, x);
            const B seen = simd::in_register(x[j]);
#pragma GCC unroll 7
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
          else
            simd::split_pairs(B(simd::loadu<Arch>(p + j)), B(simd::loadu<Arch>(p + j + L)), x[j], x[j + 1]);
        });
      } else {
        // Columns of the vectors that begin at kernel column j, and of the vectors that follow them.
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
      end_sums<Arch>(plane, first * out_cols + col, rows, count, sum);
    }
  }
}

/// sum_rows for registers of 16 lanes, which shift into each other in one step and have free masks: each cell
/// is loaded once. Kernel column j sees the vector of column K - S or K - 1, shifted by the number of strides
/// in between. With 3 x 3 cells, registers hold 9 weights, 7 or 4 sums and the previous vectors of 9 rows.
template <class Arch, int K, int S, class T>
void sum_shifted_rows(const PlaneSum<T>& plane, int64_t begin, int64_t end) {
  using B = simd::batch<T, Arch>;
  constexpr int L = simd::lanes<T, Arch>;
  constexpr int R = tile_rows<Arch, S>, seen = (R - 1) * S + K;
  const int64_t out_cols = plane.out_cols;
  const auto inside = [in_cols = plane.in_cols](int64_t from) {
    return lanes_inside<Arch, 1>(from, in_cols, L);
  };
  const auto load = [](const T* p, uint64_t lanes) { return B(simd::load_masked<Arch>(p, lanes, T{0})); };
  B weight[K * K];
#pragma GCC unroll 49
  for (int k = 0; k < K * K; ++k) weight[k] = B(plane.w[k]);
  for (int64_t first = begin; first < end; first += R) {
    const int64_t rows = std::min<int64_t>(R, end - first);
    const T* row[seen];
    list_rows<Arch>(plane, first * S - plane.pad_top, row);
    // With stride 2, `even` and `odd` count from column `from` on; with stride 1, both are its vector.
    int64_t from = K - S - plane.pad_left;
    B even_before[seen], odd_before[seen];
    if (from <= 0) {
#pragma GCC unroll 13
      for (int i = 0; i < seen; ++i) even_before[i] = odd_before[i] = B(T{0});
    } else {
      const uint64_t bits = inside(from - S * L), next = inside(from - L);
#pragma GCC unroll 13
      for (int i = 0; i < seen; ++i) {
        even_before[i] = odd_before[i] = load(row[i] + from - L, next);
        if constexpr (S == 2)
          simd::split_pairs(load(row[i] + from - S * L, bits), odd_before[i], even_before[i], odd_before[i]);
      }
    }
    for (int64_t col = 0; col < out_cols; col += L, from += S * L) {
      const int64_t count = std::min<int64_t>(L, out_cols - col);
      const uint64_t bits = inside(from), next = inside(from + L);
      B sum[R];
      start_sums<Arch>(plane, first * out_cols + col, rows, count, sum);
#pragma GCC unroll 13
      for (int i = 0; i < seen; ++i) {
        const T* p = simd::in_register(row[i] + from);
        B even = load(p, bits), odd = even;
        if constexpr (S == 2) simd::split_pairs(B(even), load(p + L, next), even, odd);
#pragma GCC unroll 7
        for (int j = 0; j < K; ++j) {
          const bool of_odd = S == 1 || j % 2 == 0;
          const B x = simd::in_register(simd::shift_in<K - 1>(of_odd ? odd_before[i] : even_before[i],
                                                              of_odd ? odd : even, (K - 1 - j) / S));
#pragma GCC unroll 7
          for (int r = 0; r < R; ++r)
            if (i >= r * S && i < r * S + K) sum[r] = simd::mul_add(x, weight[(i - r * S) * K + j], sum[r]);
        }
        even_before[i] = even, odd_before[i] = odd;
      }
      end_sums<Arch>(plane, first * out_cols + col, rows, count, sum);
    }
  }
}

/// Whether sum_half_rows computes rows: the input that one sees fits a vector, and its output half of one.
template <class Arch, int K, int S, class T>
bool fits_half_rows(int64_t out_cols) {
  constexpr int L = simd::lanes<T, Arch>;
  return L == 16 && out_cols <= L / 2 && (out_cols - 1) * S + K <= L;
}

/// sum_rows where fits_half_rows: the first half of a tile's rows in the lower halves of vectors, the second
/// in the upper halves.
template <class Arch, int K, int S, class T>
void sum_half_rows(const PlaneSum<T>& plane, int64_t begin, int64_t end) {
  using B = simd::batch<T, Arch>;
  constexpr int L = simd::lanes<T, Arch>;
  constexpr int R = half_tile_rows / 2;
  const int64_t out_cols = plane.out_cols, pad = plane.pad_left;
  const uint64_t inside = lanes_inside<Arch, 1>(-pad, plane.in_cols, L);
  const B bias(plane.bias), lo(plane.lo), hi(plane.hi);
  for (int64_t first = begin; first < end; first += 2 * R) {
    const int64_t rows = std::min<int64_t>(2 * R, end - first);
    const int64_t at = first * out_cols;
    B sum[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sum[r] = B(T{0});
    if (plane.start != nullptr) {
      const auto load = [start = plane.start + at, rows, out_cols](int r) {
        return r < rows ? B(simd::load_n<Arch>(start + r * out_cols, out_cols)) : B(T{0});
      };
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sum[r] = simd::pick_each<0, 1>(load(r), load(r + R));
    }
    const T* row[(2 * R - 1) * S + K];
    list_rows<Arch>(plane, first * S - plane.pad_top, row);
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
            if (i >= r * S && i < r * S + K)
              sum[r] = simd::mul_add(x[k], B(plane.w[(i - r * S) * K + k]), sum[r]);
      }(std::make_integer_sequence<int, K>{});
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      T* y = plane.y + at + r * out_cols;
      if (plane.ends) sum[r] = simd::bound(sum[r] + bias, lo, hi);
      if (r < rows) simd::store_n(y, sum[r], out_cols);
      if (r + R < rows)
        simd::store_n(y + R * out_cols, B(simd::pick_each<L / 2, 1>(sum[r], sum[r])), out_cols);
    }
  }
}

/// Computes the convolution with weights (Cout, Cin / groups, K, K).
template <class Arch, int K, int S, class T>
void run(const ConvArgs<T>& a, const T* weights) {
  const auto& g = a.geometry;
  constexpr int64_t L = simd::lanes<T, Arch>;
  const int64_t out_rows = g.out[0], out_cols = g.out[1], in_cells = g.in[0] * g.in[1];
  const int64_t depth = g.in_channels / g.groups, group_outputs = g.out_channels / g.groups;
  const bool halves = fits_half_rows<Arch, K, S, T>(out_cols);
  const int64_t rows = halves ? half_tile_rows : tile_rows<Arch, S>, tiles = (out_rows + rows - 1) / rows;
  const int64_t lanes = halves ? L / 2 : (out_cols + L - 1) / L * L;
  const int64_t products = rows * lanes * K * K * depth;
  parallel_for(g.batch * g.out_channels * tiles, std::max<int64_t>(task_work::products / products, 1),
               [&](int64_t begin, int64_t stop) {
                 Scratch scratch;
                 T* zeros = scratch.take<T>(g.in[1]);
                 std::fill_n(zeros, g.in[1], T{0});
                 // All tiles of a plane are summed together if it has only one input plane, else one by one,
                 // so that their sums stay in cache.
                 int64_t plane = begin / tiles, tile = begin % tiles, channel = plane % g.out_channels;
                 for (int64_t count; begin < stop; begin += count) {
                   count = depth == 1 ? std::min(tiles - tile, stop - begin) : 1;
                   PlaneSum<T> sum{
                       .x = a.x + plane / group_outputs * depth * in_cells,
                       .in_rows = g.in[0],
                       .in_cols = g.in[1],
                       .pad_top = g.pads[0],
                       .pad_left = g.pads[1],
                       .zeros = zeros,
                       .w = weights + channel * depth * K * K,
                       .start = a.add == nullptr ? nullptr : a.add + plane * out_rows * out_cols,
                       .y = a.y + plane * out_rows * out_cols,
                       .out_cols = out_cols,
                       .ends = false,
                       .bias = a.bias == nullptr ? T{0} : a.bias[channel],
                       .lo = a.lo,
                       .hi = a.hi,
                   };
                   const int64_t first = tile * rows, end = std::min((tile + count) * rows, out_rows);
                   for (int64_t c = 0; c < depth; ++c, sum.x += in_cells, sum.w += K * K, sum.start = sum.y) {
                     sum.ends = c + 1 == depth;
                     if constexpr (L == 16) {
                       if (halves) sum_half_rows<Arch, K, S>(sum, first, end);
                       else sum_shifted_rows<Arch, K, S>(sum, first, end);
                     } else {
                       sum_rows<Arch, K, S>(sum, first, end);
                     }
                   }
                   tile += count;
                   if (tile == tiles) tile = 0, ++plane, ++channel;
                   if (channel == g.out_channels) channel = 0;
                 }
               });
}

/// Computes the convolution, or returns false without effect if strides or dilations are unsupported.
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

/// Whether run_rows computes the convolution: a depthwise one over rows, in vectors that shift into each
/// other in one step.
template <class Arch, class T>
bool fits_rows(const ConvGeometry& g) {
  return simd::lanes<T, Arch> == 16 && g.rank == 1 && g.strides[0] == 1 && g.dilations[0] == 1;
}

/// Computes a row of `out` cells from one of `in` cells and `kernel` weights. A cell is loaded once per
/// vector of weights.
template <class Arch, class T>
void sum_row(const T* x, int64_t in, int64_t pad, const T* w, int64_t kernel, T bias, const T* add, T lo,
             T hi, T* y, int64_t out) {
  using B = simd::batch<T, Arch>;
  constexpr int L = simd::lanes<T, Arch>;
  constexpr int R = 4;  // vectors side by side, to hide the latency of a sum
  const B b(bias), low(lo), high(hi);
  for (int64_t col = 0; col < out; col += R * L) {
    B sum[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sum[r] = B(T{0});
    for (int64_t tap = 0; tap < kernel; tap += L) {
      const int64_t from = col - pad + tap, taps = kernel - tap;
      B cells[R + 1];
      if (from >= 0 && from + (R + 1) * L <= in) {
#pragma GCC unroll 5
        for (int r = 0; r <= R; ++r) cells[r] = simd::loadu<Arch>(x + from + r * L);
      } else {
#pragma GCC unroll 5
        for (int r = 0; r <= R; ++r)
          cells[r] =
              simd::load_masked<Arch>(x + from + r * L, lanes_inside<Arch, 1>(from + r * L, in, L), T{0});
      }
#pragma GCC unroll 16
      for (int t = 0; t < L; ++t) {
        if (t >= taps) break;
        const B weight(w[tap + t]);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
          sum[r] = simd::mul_add(t == 0 ? cells[r] : simd::shift_in<L - 1>(cells[r], cells[r + 1], L - t),
                                 weight, sum[r]);
      }
    }
    const bool whole = col + R * L <= out;
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const int64_t at = col + r * L, count = whole ? L : std::min<int64_t>(L, out - at);
      if (count <= 0) break;
      B v = sum[r] + b;
      if (add != nullptr) v = v + B(simd::load_n<Arch>(add + at, count));
      v = simd::bound(v, low, high);
      if (whole) simd::storeu(y + at, v);
      else simd::store_n(y + at, v, count);
    }
  }
}

/// Computes a depthwise convolution of rows with weights (Cout, 1, K).
template <class Arch, class T>
void run_rows(const ConvArgs<T>& a, const T* weights) {
  const auto& g = a.geometry;
  const int64_t in = g.in[0], out = g.out[0], kernel = g.kernel[0], each = g.out_channels / g.groups;
  parallel_for(g.batch * g.out_channels, std::max<int64_t>(task_work::products / (out * kernel), 1),
               [&](int64_t begin, int64_t end) {
                 for (int64_t plane = begin; plane < end; ++plane) {
                   const int64_t channel = plane % g.out_channels;
                   sum_row<Arch>(a.x + plane / each * in, in, g.pads[0], weights + channel * kernel, kernel,
                                 a.bias == nullptr ? T{0} : a.bias[channel],
                                 a.add == nullptr ? nullptr : a.add + plane * out, a.lo, a.hi,
                                 a.y + plane * out, out);
                 }
               });
}

}  // namespace tenon::TENON_ABI::kernels::planes_detail
