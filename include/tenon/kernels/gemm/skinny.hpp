// Matrix products of few rows or columns, and small products. Packing would cost more than the product, so
// operands are read unpacked.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/gemm/args.hpp"
#include "tenon/kernels/gemm/blocks.hpp"
#include "tenon/kernels/gemm/tile.hpp"

namespace tenon::TENON_ABI::kernels::gemm_detail {

/// Sums of products of R vectors x (each of k, `x_step` apart) and rows [0, count) of a matrix with dense
/// rows, `row` apart: sums[i * sum_i + r * sum_r]. Rows are taken four at a time, a quarter of them apart: 4
/// R sums, R + 1 operands, and memory is read in four contiguous streams. The last row stands in for missing
/// ones: four independent sums cost no more than one.
template <class Arch, int R, class T>
void dot_rows(const T* x, int64_t x_step, const T* matrix, int64_t row, int64_t count, int64_t k, T* sums,
              int64_t sum_i, int64_t sum_r) {
  using V = batch<T, Arch>;
  constexpr int L = lanes<T, Arch>;
  const int64_t whole = k / L * L, rest = k - whole;
  V tail[R];
  for (int r = 0; r < R; ++r) tail[r] = simd::load_n<Arch>(x + r * x_step + whole, rest);
  const int64_t quarter = (count + 3) / 4;
  for (int64_t i = 0; i < quarter; ++i) {
    const T* at[4];
    V sum[4][R];
#pragma GCC unroll 4
    for (int e = 0; e < 4; ++e) {
      at[e] = matrix + std::min(i + e * quarter, count - 1) * row;
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
        if (const int64_t at_row = i + e * quarter; at_row < count)
          sums[at_row * sum_i + r * sum_r] = simd::sum_of_lanes(sum[e][r]);
  }
}

/// sums[r * sums_row + j] += sum over p of x[r * x_row + p * x_k] * matrix[p * row + j], for r < R, j <
/// count. Rows of the matrix are read four at a time, a quarter of k apart: if they are contiguous, memory is
/// read in four unbroken streams, which takes little more than half as long as neighbouring rows.
template <class Arch, int R, class T>
void weighted_rows(const T* x, int64_t x_row, int64_t x_k, const T* matrix, int64_t row, int64_t count,
                   int64_t k, T* sums, int64_t sums_row) {
  using V = batch<T, Arch>;
  constexpr int L = lanes<T, Arch>;
  const auto add_rows = [&]<int N>(std::integral_constant<int, N>, int64_t p, int64_t apart) {
    const T* at = matrix + p * row;
    V factor[R][N];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int e = 0; e < N; ++e) factor[r][e] = V(element<Arch>(x + r * x_row + (p + e * apart) * x_k));
    const auto add_vector = [&](int64_t j, const auto& load, const auto& store) {
      V sum[R];
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sum[r] = load(sums + r * sums_row + j);
#pragma GCC unroll 4
      for (int e = 0; e < N; ++e) {
        const V y = load(at + e * apart * row + j);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) sum[r] = Single<T>::add_product(factor[r][e], y, sum[r]);
      }
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) store(sums + r * sums_row + j, sum[r]);
    };
    int64_t j = 0;
    for (; j + L <= count; j += L)
      add_vector(
          j, [](const T* from) { return simd::loadu<Arch>(from); },
          [](T* to, const V& v) { simd::storeu(to, v); });
    if (j < count)
      add_vector(
          j, [&](const T* from) { return simd::load_n<Arch>(from, count - j); },
          [&](T* to, const V& v) { simd::store_n(to, v, count - j); });
  };
  const int64_t quarter = k / 4;
  for (int64_t p = 0; p < quarter; ++p) add_rows(std::integral_constant<int, 4>{}, p, quarter);
  for (int64_t p = 4 * quarter; p < k; ++p) add_rows(std::integral_constant<int, 1>{}, p, 0);
}

/// The product of up to four rows of A and a B with dense rows, neither of which is packed.
template <class Arch, class T>
struct FewRows {
  static constexpr int64_t least_columns = 256;  // per task: with fewer, memory is read in too short pieces
  /// Several rows of few columns gain more if their sums stay in the registers of tiles.
  static bool gains(int64_t m, int64_t n) { return m == 1 || (m <= 3 && n >= 64) || (m == 4 && n >= 256); }

  const GemmArgs<T>& g;

  /// Sums of columns [begin, end) over [k0, k1) of K, rows sums_row apart.
  void sum(const T* a, const T* b, int64_t k0, int64_t k1, int64_t begin, int64_t end, T* sums,
           int64_t sums_row) const {
    for (int64_t r = 0; r < g.m; ++r) std::fill_n(sums + r * sums_row, end - begin, T{0});
    const auto rows = [&]<int R>(std::integral_constant<int, R>) {
      weighted_rows<Arch, R>(a + k0 * g.a_col, g.a_row, g.a_col, b + k0 * g.b_row + begin, g.b_row,
                             end - begin, k1 - k0, sums, sums_row);
    };
    switch (g.m) {
      case 1: return rows(std::integral_constant<int, 1>{});
      case 2: return rows(std::integral_constant<int, 2>{});
      case 3: return rows(std::integral_constant<int, 3>{});
      default: return rows(std::integral_constant<int, 4>{});
    }
  }

  /// Columns [begin, end), in strips whose sums stay in the second-level cache.
  void columns(const T* a, const T* b, const Finish<T>& finish, T* c, int64_t begin, int64_t end) const {
    const int64_t strip = cache_bytes::l2 / 2 / int64_t{sizeof(double)} / g.m;
    Scratch scratch;
    T* sums = scratch.take<T>(g.m * std::min(strip, end - begin));
    for (; begin < end; begin += strip) {
      const int64_t count = std::min(strip, end - begin);
      sum(a, b, 0, g.k, begin, begin + count, sums, count);
      finish_sums<Arch>(sums, count, g.m, count, 0, begin, finish, true, true, c, g.c_row);
    }
  }

  /// Parts of K that threads share, so that each reads whole rows. A large B has this many for any number of
  /// threads, as results would differ otherwise; their sums take a quarter of the last-level cache
  /// at most.
  int64_t parts() const {
    constexpr int64_t most_sums = cache_bytes::l3 / 4 / int64_t{sizeof(double)};
    const int64_t wanted = std::min({g.k * g.n >> 18, g.k >> 5, most_sums / (g.m * g.n), int64_t{16}});
    return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(wanted, 1))));
  }

  /// The product by parts of K.
  void run(const T* a, const T* b, const Finish<T>& finish, T* c, int64_t parts) const {
    using V = batch<T, Arch>;
    constexpr int64_t L = lanes<T, Arch>;
    Scratch scratch;
    const int64_t size = g.m * g.n, depth = (g.k + parts - 1) / parts;
    T* sums = scratch.take<T>(parts * size);
    const int64_t shares = std::clamp<int64_t>((threads_at_hand() + parts - 1) / parts, 1,
                                               std::max<int64_t>(g.n / least_columns, 1));
    parallel_for(parts * shares, 1, [&](int64_t t, int64_t) {
      const int64_t part = t / shares, share = t % shares;
      sum(a, b, part * depth, std::min((part + 1) * depth, g.k), share * g.n / shares,
          (share + 1) * g.n / shares, sums + part * size + share * g.n / shares, g.n);
    });
    parallel_for(g.n, share_of<Arch>(g.n, size * parts, least_columns, L), [&](int64_t begin, int64_t end) {
      for (int64_t r = 0; r < g.m; ++r)
        for (int64_t j = begin; j < end; j += L) {
          T* to = sums + r * g.n + j;
          const int64_t n = std::min(L, end - j);
          V sum = load_some<Arch>(to, n);
          for (int64_t part = 1; part < parts; ++part) sum = sum + load_some<Arch>(to + part * size, n);
          simd::store_n(to, sum, n);
        }
      finish_sums<Arch>(sums + begin, g.n, g.m, end - begin, 0, begin, finish, true, true, c, g.c_row);
    });
  }
};

/// R (1 to 4) vectors times a matrix. `lies_across`: the vectors are rows of A and the matrix is B; otherwise
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

  /// Vectors that are multiplied by the matrix together. Baseline has no registers for more.
  static constexpr int64_t together = Arch::least ? 2 : 4;

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

/// A product too small to be worth packing: four rows of C at a time, one vector of columns after another. If
/// fewer rows are left, the last row stands in for the missing ones, as in dot_rows.
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

}  // namespace tenon::TENON_ABI::kernels::gemm_detail
