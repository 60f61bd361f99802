// Products of 8-bit integers: few rows of A times a B that is read once and in place, row by row. Packing B
// would take longer than the product.
//
// Cells of four rows of B are combined in registers. With dot_bytes they are Quad's, and a row of ones among
// A's rows computes the sums of B's columns; without, each cell is two Pairs of bytes in the unsigned
// range, whose partners are A's numbers minus their zero points. See bytes.hpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/gemm/blocks.hpp"
#include "tenon/kernels/gemm/bytes.hpp"

namespace tenon::TENON_ABI::kernels::gemm_detail {

inline constexpr int64_t few_byte_rows = 4;
inline constexpr int64_t few_rows_columns = 512;  // per task, so that its sums stay in the first-level cache

/// Whether few_rows_product supports a product: B is in rows, not packed, and read for few rows.
template <class Arch>
bool has_few_byte_rows(const QuantGemmArgs& g) {
  const int64_t items = batch_items<Arch>(g.batch);
  const bool one_b = g.batch.b == nullptr ||
                     std::all_of(g.batch.b, g.batch.b + g.batch.rank, [](int64_t s) { return s == 0; });
  return g.packed_b == nullptr && g.b.col == 1 && g.n >= Arch::register_bytes &&
         g.m * (one_b ? items : 1) <= (simd::has_dot_bytes<Arch>() ? few_byte_rows : few_byte_rows / 2);
}

/// Adds the products of `rows` rows of A, `cell_row` cells apart, and columns [0, count) of B to the sums,
/// few_rows_columns per row.
template <bool dots, class Arch>
void add_few_rows(const uint8_t* b, int64_t b_row, int64_t k, int64_t count, bool flips, const int32_t* cells,
                  int64_t cell_row, int64_t rows, int32_t* sums) {
  using V = batch<int32_t, Arch>;
  constexpr int64_t width = Arch::register_bytes, L = lanes<int32_t, Arch>;
  const V flip(flips ? static_cast<int32_t>(0x80808080u) : 0), low(0x00ff00ff);
  for (int64_t p = 0; 4 * p < k; ++p) {
    const uint8_t* from[4];
    // A's numbers past the last are zeros.
    for (int64_t e = 0; e < 4; ++e) from[e] = b + std::min(4 * p + e, k - 1) * b_row;
    const auto step = [&](const uint8_t* r0, const uint8_t* r1, const uint8_t* r2, const uint8_t* r3,
                          int32_t* to) {
      V word[4];
      simd::interleave_vectors<Arch>(r0, r1, r2, r3, word);
      for (V& w : word) w = w ^ flip;
      for (int64_t r = 0; r < rows; ++r, to += few_rows_columns) {
        const int32_t* cell = cells + r * cell_row;
        if constexpr (dots) {
          const V a(cell[p]);
          for (int q = 0; q < 4; ++q)
            simd::storeu(to + q * L, simd::dot_bytes(a, word[q], simd::loadu<Arch>(to + q * L)));
        } else {
          const V even(cell[2 * p]), odd(cell[2 * p + 1]);
          for (int q = 0; q < 4; ++q) {
            V sum = simd::mul_add_pairs(V(word[q] & low), even, simd::loadu<Arch>(to + q * L));
            sum = simd::mul_add_pairs(V((word[q] >> 8) & low), odd, sum);
            simd::storeu(to + q * L, sum);
          }
        }
      }
    };
    int64_t j = 0;
    for (; j + width <= count; j += width) step(from[0] + j, from[1] + j, from[2] + j, from[3] + j, sums + j);
    if (j == count) continue;
    uint8_t last[4][width] = {};
    for (int e = 0; e < 4; ++e) std::copy(from[e] + j, from[e] + count, last[e]);
    step(last[0], last[1], last[2], last[3], sums + j);
  }
}

/// The product of few rows: see has_few_byte_rows.
template <bool dots, class Arch>
void few_rows_product(const QuantGemmArgs& g) {
  constexpr int64_t columns = few_rows_columns;
  const int64_t items = batch_items<Arch>(g.batch), quads = (g.k + 3) / 4, cell_row = quads * (dots ? 1 : 2);
  const int64_t chunks = (g.n + columns - 1) / columns;
  const ByteRows shape{.data = static_cast<const uint8_t*>(g.a.data),
                       .step = g.a.row,
                       .k_step = g.a.col,
                       .is_signed = g.a.is_signed,
                       .zero = static_cast<const uint8_t*>(g.a.zero),
                       .zero_step = g.a.zero_step};
  const ByteRows b_shape{
      .is_signed = g.b.is_signed, .zero = static_cast<const uint8_t*>(g.b.zero), .zero_step = g.b.zero_step};
  int32_t zero[few_byte_rows] = {};
  bool any_zero = false;
  // What products subtract from A's bytes.
  constexpr uint32_t raised = dots ? simd::dot_bytes_lowers<Arch> : 0;
  for (int64_t i = 0; i < g.m; ++i) {
    zero[i] = shape.zero_of(i) - static_cast<int32_t>(raised);
    any_zero |= zero[i] != 0;
  }
  const int64_t rows = g.m + (dots && any_zero);
  Scratch scratch;
  // With room for the row of ones, so that zero points do not decide how much memory is taken.
  int32_t* const cells = scratch.take<int32_t>(items * (g.m + dots) * cell_row + 1);
  int32_t* const a_sums = scratch.take<int32_t>(items * g.m);
  for (int64_t t = 0; t < items * rows; ++t) {
    const int64_t item = t / rows, i = t % rows;
    const int64_t first = batch_offset<Arch>(g.batch, g.batch.a, item) + i * shape.step;
    uint32_t sum = 0;
    for (int64_t p = 0; p < quads; ++p) {
      uint32_t u[4] = {raised, raised, raised, raised};
      for (int64_t e = 0; e < std::min<int64_t>(4, g.k - 4 * p); ++e) {
        if (i == g.m) u[e] = raised + 1;
        else u[e] = shape.data[first + (4 * p + e) * shape.k_step] ^ (shape.is_signed ? 128u : 0u);
        if (!dots) u[e] = (u[e] - static_cast<uint32_t>(zero[i])) & 0xffff;
        sum += dots ? u[e] - raised : static_cast<uint32_t>(static_cast<int16_t>(u[e]));
      }
      int32_t* const to = cells + t * cell_row;
      if (dots) {
        to[p] = static_cast<int32_t>(u[0] | u[1] << 8 | u[2] << 16 | u[3] << 24);
      } else {
        to[2 * p] = static_cast<int32_t>(u[0] | u[2] << 16);
        to[2 * p + 1] = static_cast<int32_t>(u[1] | u[3] << 16);
      }
    }
    if (i == g.m) continue;
    const int32_t zeros = dots ? wrap_mul(static_cast<int32_t>(g.k), zero[i]) : 0;
    a_sums[item * g.m + i] = wrap_sub(static_cast<int32_t>(sum), zeros);
  }
  const int64_t grain = std::max<int64_t>(task_work::bytes / (columns * std::max<int64_t>(g.k, 1)), 1);
  parallel_for(items * chunks, grain, [&](int64_t begin, int64_t end) {
    alignas(64) int32_t sums[(few_byte_rows + 1) * columns];
    for (int64_t t = begin; t < end; ++t) {
      const int64_t item = t / chunks, j = t % chunks * columns, count = std::min(columns, g.n - j);
      std::fill_n(sums, rows * columns, 0);
      if (g.k > 0) {
        const auto* b = static_cast<const uint8_t*>(g.b.data) + batch_offset<Arch>(g.batch, g.batch.b, item);
        add_few_rows<dots, Arch>(b + j, g.b.row, g.k, count, dots != g.b.is_signed,
                                 cells + item * rows * cell_row, cell_row, rows, sums);
      }
      for (int64_t i = 0; i < g.m; ++i) {
        int32_t* const row = sums + i * columns;
        if (dots && zero[i] != 0)
          for (int64_t e = 0; e < count; ++e)
            row[e] = wrap_sub(row[e], wrap_mul(zero[i], sums[g.m * columns + e]));
        for (int64_t e = 0; e < count; ++e) {
          const int32_t b_zero = b_shape.zero_of(j + e) - (dots ? 128 : 0);
          row[e] = wrap_sub(row[e], wrap_mul(a_sums[item * g.m + i], b_zero));
        }
      }
      Finish<int32_t> finish;
      finish.row_bias = g.row_bias, finish.col_bias = g.col_bias, finish.floats = g.floats;
      finish_sums<Arch>(sums, columns, g.m, count, 0, j, finish, true, true,
                        g.c + batch_offset<Arch>(g.batch, g.batch.c, item), g.c_row);
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels::gemm_detail
