// Matrix products: bodies.
//
//   tile.hpp    sums in registers, and writing them to C
//   pack.hpp    operands in the order in which tiles read them
//   blocks.hpp  blocks for the caches, tasks for the threads
//   skinny.hpp  few rows or columns, small products
//   split_gemm.hpp  numbers of few bits, by tile registers
//
// This file selects among them.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "tenon/base/costs.hpp"
#include "tenon/kernels/gemm/blocks.hpp"
#include "tenon/kernels/gemm/gemm.hpp"
#include "tenon/kernels/gemm/pack.hpp"
#include "tenon/kernels/gemm/skinny.hpp"
#include "tenon/kernels/gemm/split_gemm.hpp"
#include "tenon/kernels/gemm/tile.hpp"

namespace tenon::TENON_ABI::kernels::gemm_detail {

/// The product as B transposed times A transposed, for a C whose single column is dense.
template <class T>
void transpose(GemmArgs<T>& g) {
  std::swap(g.m, g.n);
  std::swap(g.a, g.b);
  std::swap(g.a_row, g.b_col);
  std::swap(g.a_col, g.b_row);
  std::swap(g.d_row, g.d_col);
  std::swap(g.row_bias, g.col_bias);
  std::swap(g.batch.a, g.batch.b);
}

/// The packing of a B; see Product.
template <class Arch, class T>
struct PackB {
  const T* b;
  int64_t row, col;

  const T* rows() const { return col == 1 ? b : nullptr; }
  void operator()(int64_t j, int64_t cols, int64_t p, int64_t depth, T* to) const {
    pack_panel<Arch, Tile<Single<T>, Arch>::cols>(b + j * col + p * row, col, row, cols, depth, to);
  }
};

/// Picks a form and runs it.
template <class Arch, class T>
void run_gemm(GemmArgs<T> g) {
  using Ops = Single<T>;
  using S = Tile<Ops, Arch>;
  int64_t items = batch_items<Arch>(g.batch);
  if (g.m <= 0 || g.n <= 0 || items <= 0) return;
  if (g.alpha == T{0}) g.k = 0;
  if (g.k == 0) {  // operands without elements may be null, which allows no pointer arithmetic
    g.a = g.b = g.c;
    g.a_row = g.a_col = g.b_row = 0, g.b_col = 1;
  }
  if (g.beta == T{0}) g.d = nullptr;
  if (g.batch.rank == 1 && items > 1 && (g.packed_b != nullptr || g.batch.b[0] == 0) &&
      g.packed_a == nullptr && g.batch.a[0] == g.m * g.a_row && g.batch.c[0] == g.m * g.c_row &&
      g.d == nullptr && g.row_bias == nullptr) {
    g.m *= items;  // a shared B: one tall product
    items = 1;
    g.batch.rank = 0;
  }
  // Packed operands with a single panel can be read like any other.
  if (g.packed_b != nullptr && g.n <= 4) {
    g.b = g.packed_b, g.b_row = S::cols, g.b_col = 1, g.packed_b = nullptr;
    g.batch.b = nullptr;
  }
  if (g.packed_a != nullptr && g.m <= 4) {
    g.a = g.packed_a, g.a_row = 1, g.a_col = S::rows, g.packed_a = nullptr;
    g.batch.a = nullptr;
  }
  const bool plain = g.packed_a == nullptr && g.packed_b == nullptr;
  const bool tiny =
      plain && g.b_col == 1 && g.m <= 16 && g.k <= 64 && g.n <= 2 * S::cols && g.m * g.n * g.k <= 8192;
  if (plain && !tiny && g.n == 1 && g.c_row == 1) transpose(g);  // a row of sums is stored to C in vectors
  if (g.d == nullptr && g.col_bias != nullptr) {  // tiles can add a matrix, here one whose rows are equal
    g.d = g.col_bias, g.d_row = 0, g.d_col = 1, g.beta = 1;
    g.batch.d = nullptr;
    g.col_bias = nullptr;
  }
  Finish<T> finish{g.alpha, g.beta, g.d, g.d_row, g.d_col, g.row_bias, g.col_bias, g.lo, g.hi};
  const auto finish_of = [&](int64_t item) {
    Finish<T> f = finish;
    if (f.d != nullptr) f.d += batch_offset<Arch>(g.batch, g.batch.d, item);
    return f;
  };
  if (plain) {
    const bool dots_across = g.m <= 4 && (g.b_row == 1 || g.k <= 1) && g.n > 1;
    const bool dots_down = g.n <= 4 && (g.a_col == 1 || g.k <= 1);
    const bool rows = g.b_col == 1 && FewRows<Arch, T>::gains(g.m, g.n);
    if (rows || tiny || dots_across || dots_down) {
      const int64_t count = tiny ? 1 : rows || dots_across ? g.n : g.m;
      const int64_t least = rows ? FewRows<Arch, T>::least_columns : tiny ? 1 : 4;
      const FewRows<Arch, T> few{g};
      if (const int64_t parts = rows && items == 1 ? few.parts() : 1; parts > 1)
        return few.run(g.a, g.b, finish_of(0), g.c, parts);
      for_shares<Arch>(
          items, count, g.m * g.n * g.k, least, rows ? 16 : 4, [&](int64_t item, int64_t begin, int64_t end) {
            const T* a = g.k == 0 ? g.a : g.a + batch_offset<Arch>(g.batch, g.batch.a, item);
            const T* b = g.k == 0 ? g.b : g.b + batch_offset<Arch>(g.batch, g.batch.b, item);
            T* c = g.c + batch_offset<Arch>(g.batch, g.batch.c, item);
            if (tiny) tiny_product<Arch>(g, a, b, finish_of(item), c);
            else if (rows) few.columns(a, b, finish_of(item), c, begin, end);
            else if (dots_across)
              Skinny<Arch, T>{g.m, a, g.a_row, g.a_col, b, g.b_col, g.k, true, finish_of(item), c, g.c_row}
                  .run(begin, end);
            else
              Skinny<Arch, T>{g.n, b, g.b_col, g.b_row, a, g.a_row, g.k, false, finish_of(item), c, g.c_row}
                  .run(begin, end);
          });
      return;
    }
  }
  constexpr int64_t plain_cells = cache_bytes::l2 / 4 / static_cast<int64_t>(sizeof(T));
  const auto product = [&](int64_t item) {
    const T* a = g.packed_a != nullptr || g.k == 0 ? g.a : g.a + batch_offset<Arch>(g.batch, g.batch.a, item);
    const T* b = g.packed_b != nullptr || g.k == 0 ? g.b : g.b + batch_offset<Arch>(g.batch, g.batch.b, item);
    const auto pack_a = [a, &g](int64_t i, int64_t rows, int64_t p, int64_t depth, T* to) {
      pack_panel<Arch, S::rows>(a + i * g.a_row + p * g.a_col, g.a_row, g.a_col, rows, depth, to);
    };
    const PackB<Arch, T> pack_b{b, g.b_row, g.b_col};
    // Packing B pays if B is read more than twice and does not fit into the second-level cache unpacked. A
    // tile of few registers reads long rows too late from there, because a few of them fill the first-level
    // cache, and vectors that cross lines cost it double: packing pays sooner.
    const bool soon = !S::wide && g.m * g.n * g.k > 4 << 20;
    const bool plain_b = g.b_col == 1 && (g.m <= 2 * S::rows || (g.k * g.n <= plain_cells && !soon));
    const int64_t ragged = g.n % lanes<T, Arch>;
    const bool plain_a =
        g.packed_a == nullptr && g.a_col == 1 && !(narrow_fits<Ops, Arch> && ragged > 0 && ragged <= 3);
    return Product<Ops, decltype(pack_a), decltype(pack_b)>{
        g.m,
        g.n,
        g.k,
        g.packed_a,
        g.packed_b,
        pack_a,
        pack_b,
        plain_b ? b : nullptr,
        g.b_row,
        g.c + batch_offset<Arch>(g.batch, g.batch.c, item),
        g.c_row,
        finish_of(item),
        plain_a ? a : nullptr,
        g.a_row};
  };
  if constexpr (std::is_same_v<T, float>)
    if (split_product<Arch>(g, items, product)) return;
  run_products<Ops, Arch>(product(0), items, product);
}

}  // namespace tenon::TENON_ABI::kernels::gemm_detail

namespace tenon::TENON_ABI::kernels {

template <class Arch, class T>
void gemm_impl(const GemmArgs<T>& g) {
  if constexpr (std::is_unsigned_v<T>) {
    // Wrapping sums and products have the same bits with and without a sign.
    using I = std::make_signed_t<T>;
    const auto as = [](const T* p) { return reinterpret_cast<const I*>(p); };
    gemm_detail::run_gemm<Arch>(GemmArgs<I>{g.m,
                                            g.n,
                                            g.k,
                                            as(g.a),
                                            g.a_row,
                                            g.a_col,
                                            as(g.b),
                                            g.b_row,
                                            g.b_col,
                                            reinterpret_cast<I*>(g.c),
                                            g.c_row,
                                            static_cast<I>(g.alpha),
                                            static_cast<I>(g.beta),
                                            as(g.d),
                                            g.d_row,
                                            g.d_col,
                                            as(g.row_bias),
                                            as(g.col_bias),
                                            no_lower_bound<I>,
                                            no_upper_bound<I>,
                                            as(g.packed_a),
                                            as(g.packed_b),
                                            g.batch});
  } else {
    gemm_detail::run_gemm<Arch>(g);
  }
}

template <class Arch, class T>
int64_t packed_a_size_impl(int64_t m, int64_t k) {
  return gemm_detail::packed_size(m, gemm_detail::Tile<gemm_detail::Single<T>, Arch>::rows, k);
}

template <class Arch, class T>
int64_t packed_b_size_impl(int64_t k, int64_t n) {
  return gemm_detail::packed_size(n, gemm_detail::Tile<gemm_detail::Single<T>, Arch>::cols, k);
}

template <class Arch, class T>
int64_t packed_b_rows_impl(int64_t k) {
  return gemm_detail::block_depth<gemm_detail::Single<T>, Arch>(k);
}

template <class Arch, class T>
void pack_a_impl(const GemmArgs<T>& g, T* packed) {
  using namespace gemm_detail;
  using S = Tile<Single<T>, Arch>;
  pack_whole<Arch, S::rows>(g.m, g.k, block_depth<Single<T>, Arch>(g.k), packed,
                            [&](int64_t i, int64_t rows, int64_t p, int64_t depth, T* to) {
                              pack_panel<Arch, S::rows>(g.a + i * g.a_row + p * g.a_col, g.a_row, g.a_col,
                                                        rows, depth, to);
                            });
}

template <class Arch, class T>
void pack_b_impl(const GemmArgs<T>& g, T* packed) {
  using namespace gemm_detail;
  using S = Tile<Single<T>, Arch>;
  pack_whole<Arch, S::cols>(g.n, g.k, block_depth<Single<T>, Arch>(g.k), packed,
                            PackB<Arch, T>{g.b, g.b_row, g.b_col});
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

#define TENON_GEMM(T)                                                          \
  template void gemm_impl<TENON_INSTANTIATE, T>(const GemmArgs<T>&);           \
  template int64_t packed_a_size_impl<TENON_INSTANTIATE, T>(int64_t, int64_t); \
  template int64_t packed_b_size_impl<TENON_INSTANTIATE, T>(int64_t, int64_t); \
  template int64_t packed_b_rows_impl<TENON_INSTANTIATE, T>(int64_t);          \
  template void pack_a_impl<TENON_INSTANTIATE, T>(const GemmArgs<T>&, T*);     \
  template void pack_b_impl<TENON_INSTANTIATE, T>(const GemmArgs<T>&, T*);
TENON_GEMM(float)
TENON_GEMM(double)
TENON_GEMM(int32_t)
TENON_GEMM(uint32_t)
TENON_GEMM(int64_t)
TENON_GEMM(uint64_t)
#undef TENON_GEMM

}  // namespace tenon::TENON_ABI::kernels
#endif
