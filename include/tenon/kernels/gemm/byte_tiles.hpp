// Products of 8-bit integers by tile registers (simd/tiles.hpp): the packing of A, and the blocks of a
// product.
//
// Four registers hold the sums of 32 rows and 32 columns; of the others, two hold 64 numbers of K of the rows
// and two of the columns. A step of K loads four registers for four products, each of which takes as long as
// two loads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/kernels/gemm/blocks.hpp"
#include "tenon/kernels/gemm/bytes.hpp"
#include "tenon/simd/tiles.hpp"

namespace tenon::TENON_ABI::kernels::gemm_detail {

/// A block's panel of A and panel of B, 24 KB each, are read many times: one of them from the first-level
/// cache, the other from the second.
template <class Unit, class Arch>
struct Tile<TileQuad<Unit>, Arch> {
  static constexpr int rows = 2 * simd::tile_rows, cols = 2 * simd::tile_rows;
  static constexpr int64_t depth = 192;
};

/// Rows of A and columns of B in memory. Bytes 64 s to 64 s + 63 of row r are at a + r * a_row + s * a_step;
/// cells 16 s + p of the columns at b + s * b_step + p * b_row. Step s also prefetches lines starting at
/// ahead + 16 * s * lines.
struct TileSource {
  const uint8_t* a;
  int64_t a_row, a_step;
  const int32_t* b;
  int64_t b_row, b_step;
  const int32_t* ahead = nullptr;
  int64_t lines = 0;
};

/// The lines of B's next panel that each step of `units` tiles prefetches; without it, tiles would read them
/// all at once, too late.
constexpr int64_t lines_ahead(int64_t units) { return (32 + units - 1) / units; }

/// Adds `steps` steps of K to the sums in registers 0 to 3.
template <bool high_rows, bool high_cols, class Unit>
void add_steps(Unit& unit, int64_t steps, const TileSource& from) {
  const uint8_t* a = from.a;
  const int32_t *b = from.b, *ahead = from.ahead;
  for (int64_t s = 0; s < steps; ++s, a += from.a_step, b += from.b_step) {
    for (int64_t l = 0; l < from.lines; ++l, ahead += 16) TENON_PREFETCH(ahead, 0, 2);
    unit.template load<6>(b, 4 * from.b_row);
    unit.template load<4>(a, from.a_row);
    unit.template add_products<0, 4, 6>();
    if constexpr (high_cols) {
      unit.template load<7>(b + simd::tile_rows, 4 * from.b_row);
      unit.template add_products<1, 4, 7>();
    }
    if constexpr (high_rows) {
      unit.template load<5>(a + simd::tile_rows * from.a_row, from.a_row);
      unit.template add_products<2, 5, 6>();
      if constexpr (high_cols) unit.template add_products<3, 5, 7>();
    }
  }
}

/// Writes the sums of a tile of up to 32 rows and columns to sums + r * row + c, starting from start + r *
/// start_row + c, or from zero without a start. Columns are computed 16 at a time.
template <class Unit>
void sum_tile(Unit& unit, int64_t rows, int64_t cols, int64_t steps, const TileSource& from,
              const int32_t* start, int64_t start_row, int32_t* sums, int64_t row) {
  constexpr int half = simd::tile_rows;
  const bool high_rows = rows > half, high_cols = cols > half;
  if (start != nullptr) {
    unit.template load<0>(start, 4 * start_row);
    if (high_cols) unit.template load<1>(start + half, 4 * start_row);
    if (high_rows) unit.template load<2>(start + half * start_row, 4 * start_row);
    if (high_rows && high_cols) unit.template load<3>(start + half * start_row + half, 4 * start_row);
  } else {
    unit.template zero<0>();
    unit.template zero<1>();
    unit.template zero<2>();
    unit.template zero<3>();
  }
  if (high_rows) {
    if (high_cols) add_steps<true, true>(unit, steps, from);
    else add_steps<true, false>(unit, steps, from);
  } else {
    if (high_cols) add_steps<false, true>(unit, steps, from);
    else add_steps<false, false>(unit, steps, from);
  }
  unit.template store<0>(sums, 4 * row);
  if (high_cols) unit.template store<1>(sums + half, 4 * row);
  if (high_rows) unit.template store<2>(sums + half * row, 4 * row);
  if (high_rows && high_cols) unit.template store<3>(sums + half * row + half, 4 * row);
}

/// Packs the panel of rows [i, i + 32) of A for all of K, like pack_bytes for B: for each block and step the
/// 64 numbers of a row side by side. Numbers past K are zero, because B may contain others there.
template <class Ops, class Arch>
void pack_byte_rows(const ByteRows& x, int64_t i, int32_t* packed, int32_t* sums) {
  using V = simd::batch<int32_t, Arch>;
  constexpr int64_t width = Tile<Ops, Arch>::rows, block = Tile<Ops, Arch>::depth, step = simd::tile_rows;
  constexpr int64_t numbers = 4 * step, lanes = simd::lanes<int32_t, Arch>;
  const int64_t count = std::min(width, x.count - i), depth = depth_of<Ops>(x.k);
  const V ones(0x01010101);
  alignas(64) uint8_t flips[numbers];
  std::memset(flips, x.is_signed ? 128 : 0, sizeof flips);
  for (int64_t r = 0; r < count; ++r) {
    const uint8_t* from = x.k == 0 ? x.data : x.data + (i + r) * x.step;  // no arithmetic on nullptr
    V sum(0);
    for (int64_t cell = 0; cell < depth; cell += step) {
      const int64_t p = cell / block * block, d = std::min(block, depth - p);
      int32_t* const to = packed + packed_size(x.count, width, p) + i * d + (cell - p) * width + r * step;
      const int64_t k = 4 * cell, n = std::min(numbers, x.k - k);
      const uint8_t* line = from + k * x.k_step;
      alignas(64) uint8_t some[numbers];
      if (x.k_step != 1) {
        for (int64_t e = 0; e < n; ++e) some[e] = line[e * x.k_step];
        line = some;
      }
      for (int64_t e = 0; e < step; e += lanes) {
        const int64_t left = std::clamp<int64_t>(n - 4 * e, 0, 4 * lanes);
        const V v = simd::bits_as<int32_t>(simd::load_n<Arch>(line + 4 * e, left)) ^
                    simd::bits_as<int32_t>(simd::load_n<Arch>(flips, left));
        simd::storeu(to + e, v);
        sum = simd::dot_bytes(v, ones, sum);
      }
    }
    sums[i + r] = simd::sum_of_lanes(sum);
  }
}

/// C of rows [i0, i1), columns [j0, j1), which begin at whole panels.
template <class Ops, class Arch, class P>
  requires(requires { typename Ops::Unit; } && Ops::per_cell == 4)
void compute_range(const P& q, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  using S = Tile<Ops, Arch>;
  constexpr int64_t rows = S::rows, cols = S::cols, step = simd::tile_rows;
  const int64_t padded_m = (q.m + rows - 1) / rows * rows, padded_n = (q.n + cols - 1) / cols * cols;
  const bool plain =
      q.finish.row_bias == nullptr && q.finish.col_bias == nullptr && q.finish.floats == nullptr;
  alignas(64) int32_t raw[rows * cols];
  // The last panel of rows comes at the end, by registers with fewer rows.
  const auto compute = [&](int64_t begin, int64_t end, int64_t count) {
    typename Ops::Unit unit({static_cast<int>(count)});
    const int64_t lines = lines_ahead((end - begin + rows - 1) / rows);
    int64_t p = 0;
    do {
      const int64_t depth = std::min(S::depth, q.depth - p), steps = depth / step;
      const bool first = p == 0, last = p + depth == q.depth;
      for (int64_t j = j0; j < j1; j += cols) {
        const int64_t width = std::min(cols, j1 - j);
        const bool direct = plain && first && width == cols;
        const int32_t* const b = q.packed_b + p * padded_n + j * depth;
        const int32_t* ahead = b + cols * depth;
        for (int64_t i = begin; i < end; i += rows, ahead += steps * lines * 16) {
          const auto* const a = reinterpret_cast<const uint8_t*>(q.packed_a + p * padded_m + i * depth);
          int32_t* const c = q.c + i * q.c_row + j;
          sum_tile(unit, count, width, steps,
                   {a, 4 * step, 4 * step * rows, b, cols, step * cols, ahead, lines}, nullptr, 0,
                   direct ? c : raw, direct ? q.c_row : cols);
          if (!direct) finish_sums<Arch>(raw, cols, count, width, i, j, q.finish, first, last, q.c, q.c_row);
        }
      }
      p += depth;
    } while (p < q.depth);
  };
  const int64_t whole = i0 + (i1 - i0) / rows * rows;
  if (whole > i0) compute(i0, whole, rows);
  if (i1 > whole) compute(whole, i1, i1 - whole);
}

}  // namespace tenon::TENON_ABI::kernels::gemm_detail
