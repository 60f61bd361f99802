// Matrix products, innermost, where products with one lane of a vector are instructions: no number of A is
// broadcast. A step of K takes few instructions besides the products, so that it needs no unrolling.
#pragma once

#include <cstdint>
#include <utility>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels::gemm_detail {

/// Whether tiles multiply by lanes. Plain integers, which are rare, have no such products.
template <class Ops, class Arch>
inline constexpr bool reads_lanes = simd::has_lane_products<Arch> && !Ops::rare;

/// Whether A's cells are never read in place, but made of its numbers.
template <class Ops, class Arch>
inline constexpr bool always_packed =
    Ops::per_cell == 2 || (Ops::per_cell == 4 && simd::dot_bytes_lowers<Arch> != 0);

/// Whether tiles of R rows multiply blocks of two rows and two columns.
template <class Ops, class Arch, int R>
inline constexpr bool reads_blocks =
    simd::has_block_products<Arch> && R % 2 == 0 && Ops::per_cell == 4 && Ops::fused;

/// Sets the sums of R rows, NV vectors to sums of products of blocks, over as many of the `depth` cells as
/// are pairs; returns how many. The rows of A lie side by side, up to whole vectors.
template <class Ops, class Arch, int R, int NV, class Operands, class V>
[[gnu::always_inline]] inline int64_t sum_by_blocks(int64_t depth, const Operands& operands,
                                                    V (&sum)[R][NV]) {
  constexpr int L = simd::lanes<typename Ops::Cell, Arch>;
  const auto [a_begin, a_row, a_step, b_begin, b_step, b_panel, ahead_begin, ahead_step] = operands;
  const auto *a = a_begin, *b = b_begin, *ahead = ahead_begin;
  V block[R / 2][2 * NV];
#pragma GCC unroll 4
  for (int i = 0; i < R / 2; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < 2 * NV; ++j) block[i][j] = V(0);
  for (int64_t pairs = depth / 2; pairs > 0; --pairs) {
    TENON_PREFETCH(ahead, 0, 2);
    TENON_PREFETCH(ahead + ahead_step, 0, 2);
    V rows[(R + L - 1) / L * 2];
#pragma GCC unroll 4
    for (int i = 0; i < R; i += L)
      simd::join_pairs(V(simd::loadu<Arch>(a + i)), V(simd::loadu<Arch>(a + a_step + i)), rows[i / 2],
                       rows[i / 2 + 1]);
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      simd::finish_products();
      V columns[2];
      simd::join_pairs(V(simd::loadu<Arch>(b + v * L)), V(simd::loadu<Arch>(b + b_step + v * L)), columns[0],
                       columns[1]);
#pragma GCC unroll 8
      for (int i = 0; i < R; ++i)
        block[i / 2][2 * v + i % 2] =
            Ops::add_block_product(rows[i / 2], columns[i % 2], block[i / 2][2 * v + i % 2]);
    }
    a += 2 * a_step;
    b += 2 * b_step;
    ahead += 2 * ahead_step;
  }
#pragma GCC unroll 4
  for (int i = 0; i < R / 2; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v)
      Ops::split_blocks(block[i][2 * v], block[i][2 * v + 1], sum[2 * i][v], sum[2 * i + 1][v]);
  return depth / 2 * 2;
}

/// Adds the products of `depth` cells to the sums, which are zero. `packed`: the rows of A lie side by side,
/// up to whole vectors.
template <class Ops, class Arch, int R, int NV, int panel_vectors, bool packed, class Operands, class V>
[[gnu::always_inline]] inline void add_by_lanes(int64_t depth, const Operands& operands, V (&sum)[R][NV]) {
  constexpr int L = simd::lanes<typename Ops::Cell, Arch>, AV = (R + L - 1) / L;
  const auto [a_begin, a_row, a_step, b_begin, b_step, b_panel, ahead_begin, ahead_step] = operands;
  const auto *a = a_begin, *a_high = a_begin + 4 * a_row, *b = b_begin, *ahead = ahead_begin;
  int64_t p = 0;
  if constexpr (packed && reads_blocks<Ops, Arch, R>) {
    p = sum_by_blocks<Ops, Arch, R, NV>(depth, operands, sum);
    a += p * a_step, b += p * b_step;
  }
  for (; p < depth; ++p) {
    TENON_PREFETCH(ahead, 0, 2);
    V bv[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v)
      bv[v] = simd::loadu<Arch>(b + v / panel_vectors * b_panel + v % panel_vectors * L);
    [[maybe_unused]] V av[AV];
#pragma GCC unroll 4
    for (int v = 0; packed && v < AV; ++v) av[v] = simd::loadu<Arch>(a + v * L);
    const auto add_row = [&]<int r>(std::integral_constant<int, r>) TENON_INLINE_LAMBDA {
      constexpr int lane = packed ? r % L : 0;
      const V x =
          packed ? av[r / L] : simd::load_lane<Arch>(r < 4 ? a + r * a_row : a_high + (r - 4) * a_row);
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) sum[r][v] = Ops::template add_lane_product<lane>(x, bv[v], sum[r][v]);
    };
    [&]<int... r>(std::integer_sequence<int, r...>) TENON_INLINE_LAMBDA {
      (add_row(std::integral_constant<int, r>{}), ...);
    }(std::make_integer_sequence<int, R>{});
    a += a_step;
    a_high += a_step;
    b += b_step;
    ahead += ahead_step;
  }
}

}  // namespace tenon::TENON_ABI::kernels::gemm_detail
