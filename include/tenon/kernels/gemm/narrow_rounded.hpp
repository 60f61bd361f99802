// Rows rounded to bytes, times a matrix of integers of 4 or 8 bits, in integers.
//
// Numbers of a row that meet one block of B share a scale, the largest of them by magnitude over 127, and
// become the integers round(x * (127 / largest)), ties to even. A block's products of integers have an exact
// sum in 32 bits, which is multiplied by the row's scale and then by B's; blocks are added in order. Sums
// therefore depend on no other row, no number of rows and no kind of instruction of a level. A block of zeros
// adds zero. A block with a NaN or an infinity makes its row's results NaN.
//
// For rows of normal distribution, the Frobenius norm of the error is 0.4 (blocks of 16) to 0.7 percent (256)
// of the results' norm.
//
// For a row, a register of columns and a block of 32, 8 products of bytes and 3 instructions that add the
// scaled sum replace 32 fma: 2.9 times fewer, which bounds the gain for many rows. A single row of 4 bits is
// bound by memory, as without rounding.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/gemm/blocks.hpp"
#include "tenon/kernels/gemm/narrow_numbers.hpp"

namespace tenon::TENON_ABI::kernels::narrow_detail {

/// Of a row and a block: its scale, and what sums start from. That is the number that the same zero point in
/// all columns contributes, or, if zero points are looked up, two parts of the negated sum of the row's
/// integers, of 7 and 16 bits, which meet a zero point and 128 times a zero point. The sum has 23 bits
/// (longest_rounded_block).
struct RoundedBlock {
  float scale = 0;
  int32_t start = 0;
};

/// What dot_bytes subtracts from codes of `bits` bits.
template <int bits, class Arch>
inline constexpr int32_t codes_lowered = bits == 8 ? simd::dot_bytes_lowers<Arch> : 0;

/// Rounds k numbers x, `step` apart, which is row r of R. Lanes of 32 bits hold the integers of four numbers
/// that meet a word's codes at one place of its bytes: lane i of the row at to[i * R], block i at
/// blocks[i * R].
template <int bits, class Arch>
void round_row(const float* x, int64_t step, int64_t k, int64_t block, bool has_zeros, int64_t R, int32_t* to,
               RoundedBlock* blocks) {
  using I = batch<int32_t, Arch>;
  using V = batch<float, Arch>;
  constexpr int L = lanes<float, Arch>, places = 8 / bits, depth = 4 * places;
  constexpr float most = 127;
  Scratch scratch;
  const int64_t padded = (std::min(block, k) + depth - 1) / depth * depth + L;
  float* const copy = scratch.take<float>(padded);
  int32_t* const whole = scratch.take<int32_t>(padded);
  for (int64_t begin = 0; begin < k; begin += block, blocks += R) {
    const int64_t size = std::min(block, k - begin), words = (size + depth - 1) / depth;
    const float* numbers = x + begin;
    if (step != 1 || size % L != 0) {
      for (int64_t i = 0; i < size; ++i) copy[i] = x[(begin + i) * step];
      std::fill(copy + size, copy + padded, 0.0f);
      numbers = copy;
    }
    I greatest(0);
    for (int64_t i = 0; i < size; i += L)
      greatest =
          simd::max(greatest, I(simd::bits_as<int32_t>(simd::loadu<Arch>(numbers + i)) & I(0x7fffffff)));
    alignas(64) int32_t lane[L];
    simd::storeu(lane, greatest);
    const int32_t top = *std::max_element(lane, lane + L);
    const float largest = std::bit_cast<float>(top);
    constexpr int32_t infinity = 0x7f800000;
    if (top == 0 || top >= infinity) {
      *blocks = {top == 0 ? 0 : std::numeric_limits<float>::quiet_NaN(), 0};
      for (int64_t i = 0; i < words * places; ++i, to += R) *to = 0;
      continue;
    }
    // 127 / largest would exceed a float's range if the largest number were small.
    const float raised = largest < 0x1p-60f ? 0x1p64f : 1.0f;
    const V raise(raised), factor(most / (largest * raised));
    I sums(0);
    for (int64_t i = 0; i < size; i += L) {
      const I q = simd::nearbyint_as_int(V(simd::loadu<Arch>(numbers + i) * raise * factor));
      sums = sums + q;
      simd::storeu(whole + i, q);
    }
    std::fill(whole + size, whole + std::max(words * depth, size), 0);
    const int32_t sum = -simd::sum_of_lanes(sums);
    constexpr int32_t usual = (1 << (bits - 1)) - codes_lowered<bits, Arch>;
    blocks->scale = largest / most;
    blocks->start = has_zeros ? static_cast<int32_t>((static_cast<uint32_t>(sum) >> 7 << 16) |
                                                     (static_cast<uint32_t>(sum) & 127u))
                              : sum * usual;
    for (int64_t w = 0; w < words; ++w)
      for (int place = 0; place < places; ++place, to += R) {
        const int32_t* const of = whole + w * depth + place;
        const auto byte = [&](int e) { return (static_cast<uint32_t>(of[e * places]) & 255u) << (8 * e); };
        *to = static_cast<int32_t>(byte(0) | byte(1) | byte(2) | byte(3));
      }
  }
}

/// Words whose products are added up in 16 bits.
inline constexpr int rounded_together = 4;

/// Adds the products of R rounded rows and NV panels, `apart` from each other, in blocks [first, last), to
/// sums[(r * NV + v) * L]. `rows` and `blocks` begin at the first block. `dot`: dot_bytes is available.
template <int bits, class Arch, int R, int NV, bool dot>
TENON_NOINLINE void multiply_rounded(const NarrowMatrix& b, const Layout<Integers<bits, Arch>, Arch>& layout,
                                     const int32_t* rows, const RoundedBlock* blocks, int64_t panel,
                                     int64_t apart, int64_t first, int64_t last, float* sums) {
  using N = Integers<bits, Arch>;
  using I = batch<int32_t, Arch>;
  using V = batch<float, Arch>;
  constexpr int L = lanes<float, Arch>, places = 8 / bits, ahead = 2048;
  // Products of codes of 8 bits exceed 16 bits, unless the upper and the lower half of a code are apart.
  constexpr bool halves = bits == 8 && !dot;
  constexpr int parts = halves ? 2 : 1;
  constexpr int32_t lowered = dot ? codes_lowered<bits, Arch> : 0;
  [[maybe_unused]] const I mask = simd::in_register(I(0x0f0f0f0f));
  const std::byte* at = b.data + layout.at(panel, first * layout.block);
  const int64_t step = apart * layout.panel_bytes;
  for (int64_t block = first; block < last; ++block, blocks += R) {
    int64_t words = (std::min(layout.block, b.k - block * layout.block) + N::depth - 1) / N::depth;
    I sum[R][NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      if (b.zeros == nullptr) {
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) sum[r][v] = I(blocks[r].start);
      } else {
        const I zero = simd::load_bytes<Arch>(b.zeros + layout.zeros(panel + v * apart, block)) - I(lowered);
        const I both = (zero & I(0xffff)) | (zero << 23);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) sum[r][v] = simd::mul_add_pairs(both, I(blocks[r].start), I(0));
      }
    }
    const auto add_words = [&]<int count>(std::integral_constant<int, count>) {
      [[maybe_unused]] I part[R][NV][parts];
#pragma GCC unroll 4
      for (int w = 0; w < count; ++w) {
        I codes[NV][2];
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
          const std::byte* from = at + v * step + w * N::bytes;
          if (w % (64 / N::bytes) == 0) TENON_PREFETCH(from + ahead, 0, 3);
          const I word = simd::loadu<Arch>(reinterpret_cast<const int32_t*>(from));
          if constexpr (bits == 8 && dot) codes[v][0] = word;
          else codes[v][0] = word & mask, codes[v][1] = (word >> 4) & mask;
        }
#pragma GCC unroll 2
        for (int place = 0; place < places; ++place)
#pragma GCC unroll 8
          for (int r = 0; r < R; ++r) {
            const I x(rows[(w * places + place) * R + r]);
#pragma GCC unroll 4
            for (int v = 0; v < NV; ++v) {
              if constexpr (!dot) {
#pragma GCC unroll 2
                for (int p = 0; p < parts; ++p) {
                  I& to = part[r][v][p];
                  const I before = w == 0 && place == 0 ? I(0) : to;
                  to = simd::in_register(simd::mul_add_bytes(codes[v][halves ? p : place], x, before));
                }
              } else if constexpr (bits == 8) {
                sum[r][v] = simd::dot_bytes(codes[v][0], x, sum[r][v]);
              } else {
                sum[r][v] = simd::dot_low_bytes(codes[v][place], x, sum[r][v]);
              }
            }
          }
      }
      if constexpr (!dot) {
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
          for (int v = 0; v < NV; ++v) {
            sum[r][v] = simd::mul_add_pairs(part[r][v][0], I(0x10001), sum[r][v]);
            if constexpr (halves) sum[r][v] = simd::mul_add_pairs(part[r][v][1], I(0x100010), sum[r][v]);
          }
      }
      at += count * N::bytes, rows += count * places * R, words -= count;
    };
    while (words >= rounded_together) add_words(std::integral_constant<int, rounded_together>{});
    while (words > 0) add_words(std::integral_constant<int, 1>{});
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      const V scale = simd::loadu<Arch>(reinterpret_cast<const float*>(at + v * step));
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        float* const to = sums + (r * NV + v) * L;
        simd::storeu(to, simd::mul_add(V(simd::to_float(sum[r][v]) * V(blocks[r].scale)), scale,
                                       simd::loadu<Arch>(to)));
      }
    }
    at += layout.scale_bytes;
  }
}

/// Rows whose integers stay in the second-level cache, and the numbers of K for which panels stay in the
/// first-level cache, while each group of these rows meets them.
inline constexpr int64_t rounded_rows = 64, rounded_depth = 512;

/// The product with rows rounded to bytes.
template <int bits, class Arch, bool dot>
void multiply_rounding(const GemmArgs<float>& g, const NarrowMatrix& b,
                       const gemm_detail::Finish<float>& finish) {
  using N = Integers<bits, Arch>;
  constexpr int L = lanes<float, Arch>;
  // Rows and panels that are computed at a time: their sums of a block fill half of the registers.
  constexpr int most = Arch::registers == 32 ? 8 : 4, NV = 2;
  const Layout<N, Arch> layout(b);
  const int64_t block_lanes = (layout.block + N::depth - 1) / N::depth * (8 / bits),
                row_lanes = layout.blocks * block_lanes;
  // Rows are in groups of one, four or eight, the last of which may lack some.
  const auto group = [&](int64_t i) { return g.m - i == 1 ? 1 : g.m - i <= 4 ? 4 : most; };
  int64_t padded = 0;
  while (padded < g.m) padded += group(padded);
  Scratch scratch;
  auto* const rows = scratch.take<int32_t>(padded * row_lanes);
  auto* const blocks = scratch.take<RoundedBlock>(padded * layout.blocks);
  const auto round_group = [&](int64_t i) {
    const int64_t R = group(i);
    for (int64_t r = 0; r < R; ++r) {
      int32_t* const to = rows + i * row_lanes + r;
      RoundedBlock* const of = blocks + i * layout.blocks + r;
      if (i + r < g.m) {
        round_row<bits, Arch>(g.a + (i + r) * g.a_row, g.a_col, b.k, layout.block, b.zeros != nullptr, R, to,
                              of);
      } else {
        for (int64_t e = 0; e < row_lanes; ++e) to[e * R] = 0;
        for (int64_t e = 0; e < layout.blocks; ++e) of[e * R] = {};
      }
    }
  };
  const int64_t grain = std::max<int64_t>((int64_t{1} << 15) / (most * b.k), 1);
  parallel_for((g.m + most - 1) / most, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * most; i < std::min(end * most, g.m); i += group(i)) round_group(i);
  });
  // Adds the products of the group of rows from i on.
  const auto multiply = [&](int64_t i, int64_t panel, int64_t apart, int64_t first, int64_t last,
                            float* sums) {
    const auto some = [&]<int R>(std::integral_constant<int, R>) {
      multiply_rounded<bits, Arch, R, NV, dot>(b, layout, rows + i * row_lanes + first * block_lanes * R,
                                               blocks + i * layout.blocks + first * R, panel, apart, first,
                                               last, sums);
    };
    switch (group(i)) {
      case 1: some(std::integral_constant<int, 1>{}); break;
      case 4: some(std::integral_constant<int, 4>{}); break;
      default: some(std::integral_constant<int, most>{}); break;
    }
  };
  const int64_t panels = layout.panels(g.n), chunks = (g.m + rounded_rows - 1) / rounded_rows;
  const int64_t size = std::min(g.m, rounded_rows) * g.n * b.k;
  gemm_detail::for_shares<Arch>(chunks, panels, size, 4, 4, [&](int64_t chunk, int64_t begin, int64_t end) {
    const int64_t from = chunk * rounded_rows, to = std::min(from + rounded_rows, g.m);
    const int64_t step =
        to - from <= most ? layout.blocks : std::max<int64_t>(rounded_depth / layout.block, 1);
    const auto all_rows = [&](int64_t panel, int64_t count, int64_t apart) {
      alignas(64) float sums[rounded_rows * NV * L];
      std::fill_n(sums, (to - from + most - 1) / most * most * NV * L, 0.0f);
      for (int64_t first = 0; first < layout.blocks; first += step)
        for (int64_t i = from; i < to; i += group(i))
          multiply(i, panel, apart, first, std::min(first + step, layout.blocks), sums + (i - from) * NV * L);
      for (int64_t v = 0; v < count; ++v) {
        const int64_t j = (panel + v * apart) * L;
        gemm_detail::finish_sums<Arch>(sums + v * L, NV * L, to - from, std::min<int64_t>(L, g.n - j), from,
                                       j, finish, true, true, g.c, g.c_row);
      }
    };
    const int64_t half = (end - begin) / NV;
    for (int64_t p = begin; p < begin + half; ++p) all_rows(p, NV, half);
    if (begin + NV * half < end) all_rows(end - 1, 1, 0);
  });
}

}  // namespace tenon::TENON_ABI::kernels::narrow_detail
