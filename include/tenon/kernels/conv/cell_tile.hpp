// Convolutions over blocks of channels, innermost: register tiles.
//
// For some neighbouring cells of x and some vectors of output channels, a tile sums products of a cell's
// channels and the weights: over blocks of input channels, within each over the kernel's cells, within each
// over the channels. The order does not depend on the tile's extents, so neither do the bits of a sum.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/compiler.hpp"
#include "tenon/kernels/conv/geometry.hpp"
#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/kernels/variants.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels::cell_detail {

using simd::batch;
using simd::lanes;
using simd::turn;

constexpr int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The cells of a tile with this many vectors. The cells x vectors sums, one weight per vector and a
/// broadcast of x must fit into the registers, and two fma units with a latency of four cycles need at least
/// eight sums.
///   32 registers  14 x 2 = 28 sums, 2 weights, 1 of x: 31;   8 x 3 = 24, 3, 1: 28
///   16 registers   6 x 2 = 12 sums, 2 weights, 1 of x: 15;   4 x 3 = 12, 3, 1: 16
///   Baseline       4 x 2 =  8 sums, 2 weights, 1 of x, 1 product without fma: 12
template <class Arch>
constexpr int most_cells(int vectors) {
  if (Arch::registers == 32) return vectors == 3 ? 8 : 14;
  if (Arch::least) return vectors == 3 ? 2 : 4;
  return vectors == 3 ? 4 : vectors == 2 ? 6 : 12;
}

/// The kernel cells [begin, end) of an axis that see cells of the image from output cell o.
struct TapRange {
  int64_t begin, end;
  TapRange(const ConvGeometry& g, int d, int64_t o) {
    const int64_t at = o * g.strides[d] - g.pads[d];
    begin = std::min(at >= 0 ? 0 : up(-at, g.dilations[d]), g.kernel[d]);
    end = at >= g.in[d] ? begin : std::clamp(up(g.in[d] - at, g.dilations[d]), begin, g.kernel[d]);
  }
};

/// The operands of a sum.
struct Reach {
  int64_t blocks = 0, block_step = 0;  ///< blocks of input channels, and their stride in x
  int64_t last_depth = 0;              ///< channels of the last one; the others are whole
  int64_t taps = 0;                    ///< kernel cells
  const int64_t* tap = nullptr;        ///< [taps] their offsets in x
  int64_t before = 0, after = 0;       ///< kernel cells around the taps that have weights but no cells in x;
                                       ///< `w` points to the weights of the first block's taps
  const char* ahead = nullptr;         ///< weights used later, which tiles prefetch; or nullptr
  int64_t ahead_bytes = 0, ahead_step = 0;  ///< their size; bytes from one step of a tile to the next
};

/// The destination of sums.
template <class T>
struct CellEnd {
  T* y;             ///< the first cell's first vector; neighbouring cells are a vector apart
  int64_t y_block;  ///< stride from one vector of output channels to the next
  bool begins;      ///< sums start from the residual, or zero, instead of y
  bool ends;        ///< the bias, the bounds and the activation are applied
  const T* bias;    ///< or nullptr
  const T* add;     ///< the residual, laid out like y; or nullptr
  T lo, hi;
  Activation<T> activation{};  ///< applied to the contents of y afterwards
};

/// R cells, V vectors. Neighbouring cells of x are `Step` elements apart and have that many channels in a
/// block. The tile also prefetches the sums of the adjacent tile, which come from memory when a row is first
/// computed, and with one tap the cells that it reads in the next block or, if there are few blocks, in the
/// adjacent tile.
template <class T, class Arch, int Step, int R, int V>
void compute_cells(const Reach& reach, const T* x, const T* w, const CellEnd<T>& end) {
  using B = batch<T, Arch>;
  constexpr int L = lanes<T, Arch>, line = 64 / static_cast<int>(sizeof(T));
  B sum[R][V];
  const T* start = end.begins ? end.add : end.y;
  const int64_t begun = start == nullptr ? 0 : V;  // vectors that sums start from
  const char* ahead = reach.ahead_step == 0 ? reinterpret_cast<const char*>(w) : reach.ahead;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v)
      sum[r][v] = start == nullptr ? B(T{0}) : B(simd::loadu<Arch>(start + v * end.y_block + r * L));
  // The weights of many blocks would evict the adjacent tile's cells from the first-level cache.
  const bool many = reach.blocks * (Step * V * L * static_cast<int64_t>(sizeof(T))) > cache_bytes::l1 / 2;
  const int64_t ahead_cells = many ? reach.block_step : R * Step;
  const auto step = [&](const T* cell) TENON_INLINE_LAMBDA {
    B weight[V];
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) weight[v] = simd::loadu<Arch>(w + v * L);
    TENON_PREFETCH(ahead, 0, 2);
    ahead += reach.ahead_step;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      if constexpr (simd::reloads_vectors<Arch>) {
        w = simd::in_register(w);
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) weight[v] = simd::loadu<Arch>(w + v * L);
      }
      if constexpr (simd::has_lane_products<Arch>) {
        const B xv = simd::load_lane<Arch>(cell + r * Step);
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) sum[r][v] = simd::mul_add_lane<0>(xv, weight[v], sum[r][v]);
      } else {
        const B xv(cell[r * Step]);
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) sum[r][v] = simd::mul_add(xv, weight[v], sum[r][v]);
      }
    }
    w += V * L;
  };
  int64_t b = 0;
  if constexpr (simd::has_costly_loops<Arch>) {
    if (reach.taps == 1 && reach.before + reach.after == 0)
      for (const int64_t tap = reach.tap[0]; b + 1 < reach.blocks; ++b, x += reach.block_step) {
        const T* cell = x + tap;
#pragma GCC unroll 2
        for (int i = 0; i < Step; ++i, ++cell) step(cell);
      }
  }
  for (; b < reach.blocks; ++b, x += reach.block_step) {
    const int64_t depth = b + 1 < reach.blocks ? int64_t{Step} : reach.last_depth;
    if (reach.taps == 1)
      for (int e = 0; e < R * Step; e += line) TENON_PREFETCH(x + ahead_cells + e, 0, 3);
    if (b < begun + V) {
      const T* adjacent = (b < begun ? start + b * end.y_block : end.y + (b - begun) * end.y_block) + R * L;
      for (int e = 0; e < R * L; e += line) TENON_PREFETCH(adjacent + e, 0, 3);
    }
    for (int64_t t = 0; t < reach.taps; ++t) {
      const T* cell = x + reach.tap[t];
#pragma GCC unroll 2
      for (int64_t i = 0; i < depth; ++i, ++cell) step(cell);
    }
    if (reach.before + reach.after > 0) [[unlikely]] {
      const int64_t next = b + 2 < reach.blocks ? int64_t{Step} : reach.last_depth;
      w += (reach.after * depth + reach.before * next) * V * L;
    }
  }
  if (end.ends) {
    if (end.bias != nullptr) {
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) {
        const B bias = simd::loadu<Arch>(end.bias + v * L);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) sum[r][v] = sum[r][v] + bias;
      }
    }
    const B lo(end.lo), hi(end.hi);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) sum[r][v] = simd::bound(sum[r][v], lo, hi);
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) simd::storeu(end.y + v * end.y_block + r * L, sum[r][v]);
}

template <class T>
using CellFunction = void (*)(const Reach&, const T*, const T*, const CellEnd<T>&);

/// Cells of the next tile of a row of which `cells` are left: rows are cut evenly. For cells of few channels,
/// which occur only at the start of a network, there is code for the greatest number and its halves only (14,
/// 7, 3, 1).
template <class T, class Arch, int Step, int V>
constexpr int64_t next_tile(int64_t cells) {
  constexpr int64_t most = most_cells<Arch>(V);
  if constexpr (Step >= lanes<T, Arch>) return up(cells, up(cells, most));
  int64_t tile = most;
  while (tile > cells) tile /= 2;
  return tile;
}

/// The family of variants of cell_functions.
template <class T, class Arch, int Step, int V>
inline constexpr int cell_family = (Step >= lanes<T, Arch> ? 0 : 3) + V - 1;

template <class T, class Arch, int Step, int V>
inline constexpr auto cell_functions = []<int... I>(std::integer_sequence<int, I...>) {
  const auto function = []<int R>(std::integral_constant<int, R>) -> CellFunction<T> {
    if constexpr (next_tile<T, Arch, Step, V>(R) == R && has_variant(cell_family<T, Arch, Step, V>, R))
      return &compute_cells<T, Arch, Step, R, V>;
    else return nullptr;
  };
  return std::array<CellFunction<T>, sizeof...(I)>{function(std::integral_constant<int, I + 1>{})...};
}(std::make_integer_sequence<int, most_cells<Arch>(V)>{});

/// Computes `cells` neighbouring cells of one to three vectors, in tiles.
template <class T, class Arch, int Step, int V>
void compute_row(int64_t cells, const Reach& reach, const T* x, const T* w, CellEnd<T> end) {
  constexpr int64_t most = most_cells<Arch>(V), L = lanes<T, Arch>;
  const CellFunction<T>* const functions = cell_functions<T, Arch, Step, V>.data();
  Reach own = reach;
  const int64_t tiles = up(cells, most);
  const int64_t steps = ((reach.blocks - 1) * Step + reach.last_depth) * reach.taps;
  own.ahead_step = reach.ahead == nullptr || steps <= 0 ? 0 : reach.ahead_bytes / (tiles * steps);
  while (cells > 0) {
    const int64_t some =
        use_variant(cell_family<T, Arch, Step, V>, functions, next_tile<T, Arch, Step, V>(cells));
    functions[some - 1](own, x, w, end);
    if (end.ends)
      for (int v = 0; v < V; ++v) end.activation(end.y + v * end.y_block, some * L);
    cells -= some;
    x += some * Step;
    end.y += some * L;
    if (end.add != nullptr) end.add += some * L;
    own.ahead += own.ahead_step * steps;
  }
}

/// Vectors of output channels that tiles process together, from vector `at` of `vectors` on: two, but three
/// first if their number is odd.
constexpr int vectors_at(int64_t at, int64_t vectors) {
  return vectors == 1 ? 1 : at == 0 && vectors % 2 == 1 ? 3 : 2;
}

/// Tasks of a loop, at least `least`, of four times task_work::tile_products; equally many for each
/// available thread.
template <class Arch>
int64_t tasks_for(double products, int64_t least) {
  const int64_t threads = threads_at_hand();
  if (threads == 1) return least;
  constexpr double size = 4 * task_work::tile_products;
  const int64_t tasks = std::max(
      static_cast<int64_t>(std::min(products / size + 1, 4.0 * static_cast<double>(threads))), least);
  return tasks < threads ? tasks : up(tasks, threads) * threads;
}

/// The first of `parts` that belongs to share `share` of `shares`.
constexpr int64_t share_begin(int64_t share, int64_t shares, int64_t parts) { return share * parts / shares; }

/// Parts of `vectors` vectors of output channels, as vectors_at cuts them.
constexpr int64_t parts_of(int64_t vectors) { return vectors == 1 ? 1 : vectors / 2; }
constexpr int64_t part_begin(int64_t part, int64_t vectors) {
  return vectors == 1 ? part : 2 * part + (part > 0 ? vectors % 2 : 0);
}

/// Calls f with the number of vectors, 1 to 3, as a constant.
template <class Arch, class F>
void with_vectors(int vectors, F f) {
  if (vectors == 1) f(std::integral_constant<int, 1>{});
  else if (vectors == 2) f(std::integral_constant<int, 2>{});
  else f(std::integral_constant<int, 3>{});
}

/// Copies one row of cells: to[i] = x[first + i * stride] for i < count, zero outside of [0, width).
template <class T, class Arch>
void copy_cells(const T* x, int64_t width, int64_t first, int64_t stride, int64_t count, T* to) {
  constexpr int L = lanes<T, Arch>;
  const batch<T, Arch> zero(T{0});
  int64_t i = 0, c = first;
  for (; i < count && c < 0; ++i, c += stride) simd::storeu(to + i * L, zero);
  for (; i < count && c < width; ++i, c += stride) simd::storeu(to + i * L, simd::loadu<Arch>(x + c * L));
  for (; i < count; ++i) simd::storeu(to + i * L, zero);
}

/// Columns of the weights of `present` outputs, one output per row, each times its factor if any: to[j *
/// count + i] for column j and output i < count, zero from `present` on. `w` may be any address.
template <class Arch, class T>
void turn_weights(const T* w, const double* factors, int64_t row, int64_t columns, int64_t present,
                  int64_t count, T* to) {
  if (present < count) std::fill_n(to, columns * count, T{0});
  turn<Arch>(w, row, present, columns, to, count);
  for (int64_t j = 0; j < columns && factors != nullptr; ++j)
    for (int64_t i = 0; i < present; ++i)
      to[j * count + i] = static_cast<T>(static_cast<double>(to[j * count + i]) * factors[i]);
}

}  // namespace tenon::TENON_ABI::kernels::cell_detail
