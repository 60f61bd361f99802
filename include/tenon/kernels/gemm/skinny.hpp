// Matrix products of few rows or columns, and small products. Packing would cost more than the product, so
// operands are read unpacked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/gemm/args.hpp"
#include "tenon/kernels/gemm/blocks.hpp"
#include "tenon/kernels/gemm/tile.hpp"

namespace tenon::kernels::gemm_detail {

/// Sums of products of R vectors x (each of k, `x_step` apart) with rows [0, count) of a matrix whose rows
/// lie `row` apart and are dense: sums[i * sum_i + r * sum_r]. Rows are taken four at a time: 4 R sums, R + 1
/// operands, and memory is read in four streams. When fewer rows are left, the last row stands in for the
/// missing ones: four independent sums cost no more than one.
template <class Arch, int R, class T>
void dot_rows(const T* x, int64_t x_step, const T* matrix, int64_t row, int64_t count, int64_t k, T* sums,
              int64_t sum_i, int64_t sum_r) {
  using V = batch<T, Arch>;
  constexpr int L = lanes<T, Arch>;
  const int64_t whole = k / L * L, rest = k - whole;
  V tail[R];
  for (int r = 0; r < R; ++r) tail[r] = simd::load_n<Arch>(x + r * x_step + whole, rest);
  for (int64_t i = 0; i < count; i += 4) {
    const T* at[4];
    V sum[4][R];
#pragma GCC unroll 4
    for (int e = 0; e < 4; ++e) {
      at[e] = e == 0 ? matrix + i * row : at[e - 1] + (i + e < count ? row : 0);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sum[e][r] = V(T{0});
    }
    for (int64_t p = 0; p < whole; p += L) {
      V xv[R];
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) xv[r] = simd::loadu<Arch>(x + r * x_step + p);
#pragma GCC unroll 4
      for (int e = 0; e < 4; ++e) {
        const V y = simd::loadu<Arch>(at[e] + p);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) sum[e][r] = Single<T>::add_product(xv[r], y, sum[e][r]);
      }
    }
    if (rest > 0) {
#pragma GCC unroll 4
      for (int e = 0; e < 4; ++e) {
        const V y = simd::load_n<Arch>(at[e] + whole, rest);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) sum[e][r] = Single<T>::add_product(tail[r], y, sum[e][r]);
      }
    }
#pragma GCC unroll 4
    for (int e = 0; e < 4; ++e)
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r)
        if (i + e < count) sums[(i + e) * sum_i + r * sum_r] = simd::sum_of_lanes(sum[e][r]);
  }
}

/// sums[j] = sum over p of x[p] * matrix[p * row + j], for j < count: rows are read eight at a time, end to
/// end.
template <class Arch, class T>
void weighted_rows(const T* x, const T* matrix, int64_t row, int64_t count, int64_t k, T* sums) {
  using V = batch<T, Arch>;
  constexpr int L = lanes<T, Arch>;
  const auto rows_at = [&]<int N>(std::integral_constant<int, N>, int64_t p) {
    const T* at = matrix + p * row;
    V xv[N];
#pragma GCC unroll 8
    for (int e = 0; e < N; ++e) xv[e] = V(x[p + e]);
    int64_t j = 0;
    for (; j + L <= count; j += L) {
      V sum = p == 0 ? V(T{0}) : simd::loadu<Arch>(sums + j);
#pragma GCC unroll 8
      for (int e = 0; e < N; ++e)
        sum = Single<T>::add_product(xv[e], simd::loadu<Arch>(at + e * row + j), sum);
      simd::storeu(sums + j, sum);
    }
    if (j < count) {
      V sum = p == 0 ? V(T{0}) : simd::load_n<Arch>(sums + j, count - j);
      for (int e = 0; e < N; ++e)
        sum = Single<T>::add_product(V(x[p + e]), simd::load_n<Arch>(at + e * row + j, count - j), sum);
      simd::store_n(sums + j, sum, count - j);
    }
  };
  int64_t p = 0;
  for (; p + 8 <= k; p += 8) rows_at(std::integral_constant<int, 8>{}, p);
  for (; p < k; ++p) rows_at(std::integral_constant<int, 1>{}, p);
}

/// The columns that single_row takes at a time.
template <class T>
inline constexpr int64_t single_row_strip = (int64_t{1} << 14) / static_cast<int64_t>(sizeof(T));

/// R (1 to 4) vectors against a matrix. `lies_across`: the vectors are rows of A and the matrix is B; else
/// the vectors are columns of B and the matrix is A.
template <class Arch, class T>
struct Skinny {
  int64_t vectors;  // R
  const T* x;       // element p of vector r at r * x_step + p * x_k
  int64_t x_step, x_k;
  const T* matrix;  // element (i,p) at i * row + p
  int64_t row, k;
  bool lies_across;
  Finish<T> finish;
  T* c;
  int64_t c_row;

  /// Vectors that go through the matrix together. Baseline has no registers for more.
  static constexpr int64_t together = std::is_same_v<Arch, simd::Baseline> ? 2 : 4;

  /// The products with rows [begin, end) of the matrix.
  void run(int64_t begin, int64_t end) const {
    Scratch scratch;
    const T* dense = x;
    int64_t dense_step = x_step;
    if (x_k != 1 && k > 1) {
      T* copy = scratch.take<T>(vectors * k);
      for (int64_t r = 0; r < vectors; ++r)
        for (int64_t p = 0; p < k; ++p) copy[r * k + p] = element<Arch>(x + r * x_step + p * x_k);
      dense = copy;
      dense_step = k;
    }
    const int64_t count = end - begin;
    T* sums = scratch.take<T>(vectors * count);
    const int64_t sum_i = lies_across ? 1 : vectors, sum_r = lies_across ? count : 1;
    for (int64_t r = 0; r < vectors; r += together) {
      const auto dots = [&]<int R>(std::integral_constant<int, R>) {
        dot_rows<Arch, R>(dense + r * dense_step, dense_step, matrix + begin * row, row, count, k,
                          sums + r * sum_r, sum_i, sum_r);
      };
      const int64_t left = vectors - r;
      if (left == 1) dots(std::integral_constant<int, 1>{});
      else if (left == 2 || together == 2) dots(std::integral_constant<int, 2>{});
      else if constexpr (together > 2) {
        if (left == 3) dots(std::integral_constant<int, 3>{});
        else dots(std::integral_constant<int, 4>{});
      }
    }
    if (lies_across) finish_sums<Arch>(sums, count, vectors, count, 0, begin, finish, true, true, c, c_row);
    else finish_sums<Arch>(sums, vectors, count, vectors, begin, 0, finish, true, true, c, c_row);
  }
};

/// Columns [begin, end) of a product of one row of A and a B with dense rows.
template <class Arch, class T>
void single_row(const GemmArgs<T>& g, const T* a, const T* b, const Finish<T>& finish, T* c, int64_t begin,
                int64_t end) {
  // Sums of a strip stay in the first-level cache while rows stream by.
  constexpr int64_t strip = single_row_strip<T>;
  Scratch scratch;
  const T* x = a;
  if (g.a_col != 1 && g.k > 1) {
    T* copy = scratch.take<T>(g.k);
    for (int64_t p = 0; p < g.k; ++p) copy[p] = a[p * g.a_col];
    x = copy;
  }
  T* sums = scratch.take<T>(strip);
  for (int64_t j = begin; j < end; j += strip) {
    const int64_t count = std::min(strip, end - j);
    if (g.k == 0) std::fill(sums, sums + count, T{0});
    weighted_rows<Arch>(x, b + j, g.b_row, count, g.k, sums);
    finish_sums<Arch>(sums, count, 1, count, 0, j, finish, true, true, c, g.c_row);
  }
}

/// A product too small to be worth packing: four rows of C at a time, one vector of columns after another.
/// When fewer rows are left, the last row stands in for the missing ones, as in dot_rows.
template <class Arch, class T>
void tiny_product(const GemmArgs<T>& g, const T* a, const T* b, const Finish<T>& finish, T* c) {
  using V = batch<T, Arch>;
  constexpr int L = lanes<T, Arch>;
  const auto tile_at = [&]<bool whole>(std::bool_constant<whole>, int64_t i, int64_t j, int64_t count) {
    V sum[4];
    const T* row[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      sum[r] = V(T{0});
      row[r] = r == 0 ? a + i * g.a_row : row[r - 1] + (i + r < g.m ? g.a_row : 0);
    }
    const T* bp = b + j;
    for (int64_t p = 0; p < g.k; ++p, bp += g.b_row) {
      V x;
      if constexpr (whole) x = simd::loadu<Arch>(bp);
      else x = simd::load_n<Arch>(bp, count);
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) sum[r] = Single<T>::add_product(V(row[r][p * g.a_col]), x, sum[r]);
    }
    alignas(64) T raw[4 * L];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) simd::storeu(raw + r * L, sum[r]);
    finish_sums<Arch>(raw, L, std::min<int64_t>(4, g.m - i), count, i, j, finish, true, true, c, g.c_row);
  };
  for (int64_t i = 0; i < g.m; i += 4) {
    int64_t j = 0;
    for (; j + L <= g.n; j += L) tile_at(std::true_type{}, i, j, L);
    if (j < g.n) tile_at(std::false_type{}, i, j, g.n - j);
  }
}

}  // namespace tenon::kernels::gemm_detail
