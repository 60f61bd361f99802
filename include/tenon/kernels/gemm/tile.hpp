// Matrix products, innermost: register tiles, and the writing of their sums to C.
//
// A tile sums products of cells (i, p) of A and cells (p, j) of B, for p from 0 to a block's depth, each sum
// by fma in that order: the same bits in every form of tile.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/kernels/gemm/args.hpp"
#include "tenon/kernels/gemm/lane_tile.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels::gemm_detail {

using simd::batch;
using simd::lanes;

// ----------------------------------------------------------------------------------------------- arithmetic

/// A packed cell is one number.
template <class T>
struct Single {
  using Cell = T;
  using Out = T;
  static constexpr int per_cell = 1;
  static constexpr bool rare = std::is_integral_v<T>;
  static constexpr bool fused = true;  // no register holds a product before it is added

  template <class V>
  static V add_product(const V& a, const V& b, const V& sum) {
    if constexpr (std::is_floating_point_v<T>) return simd::mul_add(a, b, sum);
    else return sum + simd::mul_wrap(a, b);
  }
  /// The same for one lane of a.
  template <int lane, class V>
  static V add_lane_product(const V& a, const V& b, const V& sum) {
    return simd::mul_add_lane<lane>(a, b, sum);
  }
};

/// A packed cell is two neighbours along K in 16 bits each, the first in the low half.
struct Pair {
  using Cell = int32_t;
  using Out = int32_t;
  static constexpr int per_cell = 2;
  static constexpr bool rare = false;
  static constexpr bool fused = false;

  template <class V>
  static V add_product(const V& a, const V& b, const V& sum) {
    return simd::mul_add_pairs(a, b, sum);
  }
  template <int lane, class V>
  static V add_lane_product(const V& a, const V& b, const V& sum) {
    return simd::mul_add_pairs_lane<lane>(a, b, sum);
  }
};

// ---------------------------------------------------------------------------------------------------- tiles

/// The register tile. The rows x vectors sums, one row of B and a broadcast of A must fit into the registers.
/// Two fma units with a latency of four cycles need at least eight sums. A step of K takes rows + vectors
/// loads for rows x vectors products, and a core loads as often as it multiplies: the squarer the tile, the
/// better.
///   32 registers  8 x 3 = 24 sums, 3 of B, 1 of A: 28
///   16 registers  6 x 2 = 12 sums, 2 of B, 1 of A: 15
///   Baseline      4 x 2 =  8 sums, 2 of B, 1 of A, 1 product without fma: 12
/// Plain integer products are rare: a small tile saves code. Where products take registers of their own, but
/// with a latency that sums do not wait for, 16 registers hold 4 x 2 sums.
template <class Ops, class Arch>
struct Tile {
  using Cell = typename Ops::Cell;
  static constexpr bool wide = Arch::registers == 32 && !Ops::rare;
  static constexpr bool small = Arch::least || Ops::rare || !Ops::fused;
  static constexpr int rows = wide ? 8 : small ? 4 : 6;
  static constexpr int vectors = wide ? 3 : 2;
  static constexpr int cols = vectors * lanes<Cell, Arch>;
  /// The maximum number of cells of K in a block.
  static constexpr int64_t depth =
      (wide && Ops::per_cell == 1 ? 2048 : 1536) / static_cast<int64_t>(sizeof(Cell));
};

/// Cells of K in the blocks of a product over `depth` cells: as few blocks as possible, of equal size. A
/// block reads and writes all of C, which costs as much for a short one as for a long one.
template <class Ops, class Arch>
constexpr int64_t block_depth(int64_t depth) {
  constexpr int64_t most = Tile<Ops, Arch>::depth, unit = 32;
  if constexpr (Ops::per_cell != 1) return most;
  depth = std::max<int64_t>(depth, 1);
  const int64_t blocks = (depth + most - 1) / most;
  return ((depth + blocks - 1) / blocks + unit - 1) / unit * unit;
}

/// The operands of a tile: cell (i, p) of A at a[i * a_row + p * a_step], row p of B at b + p * b_step, and
/// row p of the next panel b_panel cells further on. Step p also prefetches ahead + p * ahead_step.
template <class Cell>
struct TileOperands {
  const Cell* a;
  int64_t a_row, a_step;
  const Cell* b;
  int64_t b_step, b_panel;
  const Cell* ahead;
  int64_t ahead_step;
};

/// The destination of a tile's sums. If raw is null, alpha * sums + add + row_bias, bounded, go to C; else
/// the plain sums go to `raw`, row after row.
template <class Out>
struct TileEnd {
  Out* c;
  int64_t c_row;
  const Out* add;  ///< with rows add_row apart, or nullptr
  int64_t add_row;
  const Out* row_bias;  ///< or nullptr
  const Out* col_bias;  ///< or nullptr
  Out alpha;            ///< 1 for integers
  bool bounded;
  Out lo, hi;
  bool far;  ///< whether C does not fit into the second-level cache along with the operands
  Out* raw;
};

/// Sums of R rows, NV vectors over `depth` cells.
template <class Ops, class Arch, int R, int NV>
void compute_tile(int64_t depth, const TileOperands<typename Ops::Cell>& operands,
                  const TileEnd<typename Ops::Out>& end) {
  using Cell = typename Ops::Cell;
  using V = batch<Cell, Arch>;
  constexpr int L = lanes<Cell, Arch>, panel_vectors = Tile<Ops, Arch>::vectors;
  const auto [a_begin, a_row, a_step, b_begin, b_step, b_panel, ahead_begin, ahead_step] = operands;
  // Addresses of four rows need a base and two strides, for which there are registers.
  const Cell *a = a_begin, *a_high = a_begin + 4 * a_row, *b = b_begin, *ahead = ahead_begin;
  V sum[R][NV];
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) sum[r][v] = V(Cell{0});
  if (Tile<Ops, Arch>::wide && end.far && end.raw == nullptr) {
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) TENON_PREFETCH(end.c + r * end.c_row + v * L, 1, 3);
  }
  const auto step = [&]() TENON_INLINE_LAMBDA {
    TENON_PREFETCH(ahead, 0, 2);
    V bv[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v)
      bv[v] = simd::loadu<Arch>(b + v / panel_vectors * b_panel + v % panel_vectors * L);
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) {
      const V av(r < 4 ? a[r * a_row] : a_high[(r - 4) * a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) sum[r][v] = Ops::add_product(av, bv[v], sum[r][v]);
    }
    a += a_step;
    a_high += a_step;
    b += b_step;
    ahead += ahead_step;
  };
  if constexpr (reads_lanes<Ops, Arch>) {
    // In a packed A the rows lie side by side, in an unpacked one the steps.
    if (always_packed<Ops, Arch> || a_step != 1)
      add_by_lanes<Ops, Arch, R, NV, panel_vectors, true>(depth, operands, sum);
    else add_by_lanes<Ops, Arch, R, NV, panel_vectors, false>(depth, operands, sum);
  } else {
    int64_t p = 0;
    // The loop counter competes for the units that multiply.
    for (; Tile<Ops, Arch>::wide && p + 2 <= depth; p += 2) step(), step();
    for (; p < depth; ++p) step();
  }
  if constexpr (!Ops::fused) {
    // At -O3, GCC would hoist computations that follow the loop into it and run out of registers.
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) sum[r][v] = simd::in_register(sum[r][v]);
  }
  if (end.raw != nullptr) {
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) simd::storeu(end.raw + (r * NV + v) * L, sum[r][v]);
    return;
  }
  if constexpr (std::is_floating_point_v<Cell>) {
    if (end.alpha != Cell{1}) {
      const V alpha(end.alpha);
#pragma GCC unroll 32
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) sum[r][v] = simd::in_register(V(alpha * sum[r][v]));
    }
  }
  if (end.add != nullptr) {
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v)
        sum[r][v] = simd::loadu<Arch>(end.add + r * end.add_row + v * L) + sum[r][v];
  }
  if (end.row_bias != nullptr) {
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) sum[r][v] = sum[r][v] + V(end.row_bias[r]);
  }
  if (end.col_bias != nullptr) {
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      const V bias = simd::loadu<Arch>(end.col_bias + v * L);
#pragma GCC unroll 32
      for (int r = 0; r < R; ++r) sum[r][v] = sum[r][v] + bias;
    }
  }
  if constexpr (std::is_floating_point_v<Cell>) {
    if (end.bounded) {
      const V lo(end.lo), hi(end.hi);
#pragma GCC unroll 32
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) sum[r][v] = simd::bound(sum[r][v], lo, hi);
    }
  }
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) simd::storeu(end.c + r * end.c_row + v * L, sum[r][v]);
}

template <class Ops>
using TileFunction = void (*)(int64_t, const TileOperands<typename Ops::Cell>&,
                              const TileEnd<typename Ops::Out>&);

/// compute_tile for 1, 2, 4, 6, ... rows and any number of vectors. Other row counts use the next even one,
/// whose last row is the panel's padding of zeros. This halves the code and costs time only in the last rows
/// of A.
template <class Ops, class Arch>
inline constexpr auto tile_functions = []<int... I>(std::integer_sequence<int, I...>) {
  constexpr int vectors = Tile<Ops, Arch>::vectors;
  return std::array<TileFunction<Ops>, sizeof...(I)>{
      &compute_tile<Ops, Arch, std::max(I / vectors * 2, 1), I % vectors + 1>...};
}(std::make_integer_sequence<int, (Tile<Ops, Arch>::rows / 2 + 1) * Tile<Ops, Arch>::vectors>{});

/// Whether one or two rows take two panels of B at once: four or eight sums, because the few sums of a
/// single panel would wait for each other. Elsewhere that is not worth its code.
template <class Ops, class Arch>
inline constexpr bool joins_panels = Tile<Ops, Arch>::rows == 6;

/// Whether there is a tile of exactly this many rows.
constexpr bool exact_tile(int64_t rows) { return rows == 1 || rows % 2 == 0; }

/// The tile for 1 to Tile::rows rows and 1 to Tile::vectors vectors, or for one or two rows and two panels if
/// these are joined.
template <class Ops, class Arch>
TileFunction<Ops> tile_for(int64_t rows, int vectors) {
  if constexpr (joins_panels<Ops, Arch>) {
    constexpr int joined = 2 * Tile<Ops, Arch>::vectors;
    if (vectors == joined)
      return rows == 1 ? &compute_tile<Ops, Arch, 1, joined> : &compute_tile<Ops, Arch, 2, joined>;
  }
  const int64_t size = rows == 1 ? 0 : (rows + 1) / 2;
  return tile_functions<Ops, Arch>[static_cast<std::size_t>(size * Tile<Ops, Arch>::vectors + vectors - 1)];
}

/// Whether compute_narrow supports a level: a row panel's cells of one place in K fill half a register or a
/// whole one. A baseline vector of four cells is never empty enough to justify compiling the code.
template <class Ops, class Arch>
inline constexpr bool narrow_fits =
    !Arch::least && (Tile<Ops, Arch>::rows == lanes<typename Ops::Cell, Arch> ||
                     2 * Tile<Ops, Arch>::rows == lanes<typename Ops::Cell, Arch>);

/// Row panels that compute_narrow takes at once.
inline constexpr int narrow_panels = 8;

/// The product for a few columns, which would leave a tile's vectors almost empty: vectors run along the rows
/// of A instead. Sums of C columns (at b, b + 1, ...) and `panels` row panels are written to raw[row * C +
/// column], in the same order of summation as in tiles.
template <class Ops, class Arch, int C>
void compute_narrow(int64_t depth, const typename Ops::Cell* a, int64_t panels, const typename Ops::Cell* b,
                    int64_t b_step, typename Ops::Out* raw) {
  using Cell = typename Ops::Cell;
  using V = batch<Cell, Arch>;
  constexpr int rows = Tile<Ops, Arch>::rows, L = lanes<Cell, Arch>;
  V sum[narrow_panels][C];
  const Cell* panel[narrow_panels];
#pragma GCC unroll 8
  for (int g = 0; g < narrow_panels; ++g) {
    panel[g] = a + std::min<int64_t>(g, panels - 1) * depth * rows;
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) sum[g][c] = V(Cell{0});
  }
  for (int64_t p = 0; p < depth; ++p, b += b_step) {
    V bv[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) bv[c] = V(b[c]);
#pragma GCC unroll 8
    for (int g = 0; g < narrow_panels; ++g) {
      V av;
      if constexpr (rows == L) av = simd::loadu<Arch>(panel[g] + p * rows);
      else av = simd::load_half<Arch>(panel[g] + p * rows);
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) sum[g][c] = Ops::add_product(av, bv[c], sum[g][c]);
    }
  }
  // Half a register of padding is overwritten by the next panel's sums.
  alignas(64) Cell column[C][narrow_panels * rows + L] = {};
#pragma GCC unroll 8
  for (int g = 0; g < narrow_panels; ++g)
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) simd::storeu(column[c] + g * rows, sum[g][c]);
  for (int64_t r = 0; r < panels * rows; ++r)
    for (int c = 0; c < C; ++c) raw[r * C + c] = column[c][r];
}

// -------------------------------------------------------------------------------------------- sums to C

/// The operations applied to sums before they go to C.
template <class Out>
struct Finish {
  Out alpha = 1;
  Out beta = 0;
  const Out* d = nullptr;
  int64_t d_row = 0, d_col = 0;
  const Out* row_bias = nullptr;
  const Out* col_bias = nullptr;
  Out lo = no_lower_bound<Out>, hi = no_upper_bound<Out>;
  const SumScaling* floats = nullptr;  ///< for int32: dequantises the sums, or nullptr

  bool bounded() const {
    return std::is_floating_point_v<Out> && (lo != no_lower_bound<Out> || hi != no_upper_bound<Out>);
  }
};

template <class Arch, class T>
batch<T, Arch> load_some(const T* p, int64_t n) {
  return !simd::masks_are_free<Arch> && n == lanes<T, Arch> ? simd::loadu<Arch>(p) : simd::load_n<Arch>(p, n);
}

/// Dequantises and writes the sums of the last block; see finish_sums.
template <class Arch>
void finish_floats(const int32_t* sum, int64_t sum_row, int64_t rows, int64_t cols, int64_t i, int64_t j,
                   const Finish<int32_t>& f, bool first, int32_t* c, int64_t c_row) {
  using V = batch<int32_t, Arch>;
  using F = batch<float, Arch>;
  constexpr int L = lanes<int32_t, Arch>;
  const SumScaling& s = *f.floats;
  const F lo(s.lo), hi(s.hi);
  for (int64_t q = 0; q < cols; q += L) {
    const int64_t n = std::min<int64_t>(L, cols - q);
    const F scale = load_some<Arch>(s.scale + j + q, n),
            bias = s.bias == nullptr ? F(0.0f) : load_some<Arch>(s.bias + j + q, n);
    const V shift = f.col_bias == nullptr ? V(0) : load_some<Arch>(f.col_bias + j + q, n);
    for (int64_t r = 0; r < rows; ++r) {
      int32_t* const to = c + (i + r) * c_row + j + q;
      V x = load_some<Arch>(sum + r * sum_row + q, n) + shift;
      if (!first) x = load_some<Arch>(to, n) + x;
      if (f.row_bias != nullptr) x = x + V(f.row_bias[i + r]);
      F y = simd::to_float(x) * scale + bias;
      if (s.d != nullptr) y = y + load_some<Arch>(s.d + (i + r) * s.d_row + j + q, n);
      const V bits = simd::bits_as<int32_t>(simd::bound(y, lo, hi));
      if (!simd::masks_are_free<Arch> && n == L) simd::storeu(to, bits);
      else simd::store_n(to, bits, n);
    }
  }
}

/// Writes sums (rows, cols), rows `sum_row` apart, to C from element (i, j) on. `first` and `last` say
/// whether the sums belong to the first and to the last block of K.
template <class Arch, class Out>
void finish_sums(const Out* sum, int64_t sum_row, int64_t rows, int64_t cols, int64_t i, int64_t j,
                 const Finish<Out>& f, bool first, bool last, Out* c, int64_t c_row) {
  if constexpr (std::is_same_v<Out, int32_t>)
    if (last && f.floats != nullptr)
      return finish_floats<Arch>(sum, sum_row, rows, cols, i, j, f, first, c, c_row);
  using V = batch<Out, Arch>;
  constexpr int L = lanes<Out, Arch>;
  const V alpha(f.alpha), beta(f.beta);
  const auto scaled = [](const V& factor, const V& x) {
    if constexpr (std::is_integral_v<Out>) return simd::mul_wrap(factor, x);
    else return factor * x;
  };
  const bool scale = f.alpha != Out{1};
  [[maybe_unused]] const bool bounded = last && f.bounded();
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t q = 0; q < cols; q += L) {
      const int64_t n = std::min<int64_t>(L, cols - q);
      V x = load_some<Arch>(sum + r * sum_row + q, n);
      Out* to = c + (i + r) * c_row + j + q;
      if (scale) x = simd::in_register(V(scaled(alpha, x)));
      if (!first) {
        x = load_some<Arch>(to, n) + x;
      } else if (f.d != nullptr) {
        const Out* d = f.d + (i + r) * f.d_row + (j + q) * f.d_col;
        V y;
        if (f.d_col == 1) {
          y = load_some<Arch>(d, n);
        } else {
          Out gathered[L] = {};
          for (int64_t e = 0; e < n; ++e) gathered[e] = d[e * f.d_col];
          y = simd::loadu<Arch>(gathered);
        }
        x = x + scaled(beta, y);
      }
      if (last && f.row_bias != nullptr) x = x + V(f.row_bias[i + r]);
      if (last && f.col_bias != nullptr) x = x + load_some<Arch>(f.col_bias + j + q, n);
      if constexpr (std::is_floating_point_v<Out>)
        if (bounded) x = simd::bound(x, V(f.lo), V(f.hi));
      if (!simd::masks_are_free<Arch> && n == L) simd::storeu(to, x);
      else simd::store_n(to, x, n);
    }
}

}  // namespace tenon::TENON_ABI::kernels::gemm_detail
