// Products of 8-bit integers: bodies.
//
// Panels hold the numbers less their zero points (9 bits) as pairs of neighbours along K, 16 bits each. One
// instruction multiplies two pairs and adds both products to a 32-bit sum. Instructions that multiply bytes
// would need a later correction for zero points, and AVX2's saturate at 16 bits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/kernels/gemm/blocks.hpp"
#include "tenon/kernels/gemm/quant_gemm.hpp"

namespace tenon::kernels::gemm_detail {

/// One panel of pairs of 8-bit numbers less their zero points; k numbers make (k + 1) / 2 cells.
template <class Arch, int width, class T>
void pack_pair_panel(const T* from, int64_t step, int64_t k_step, int64_t count, int64_t k, const T* zero,
                     int64_t zero_step, int32_t* to) {
  for (int64_t p = 0; p < k; p += 2) {
    int32_t* row = to + p / 2 * width;
    for (int64_t i = 0; i < count; ++i) {
      const T* x = from + i * step + p * k_step;
      const int32_t z = zero != nullptr ? zero[i * zero_step] : 0;
      // Differences of 8-bit numbers fit into 9 bits, and the sum of two products of them into 32.
      const uint32_t low = static_cast<uint16_t>(x[0] - z);
      const uint32_t high = p + 1 < k ? static_cast<uint16_t>(x[k_step] - z) : 0;
      row[i] = static_cast<int32_t>(low | high << 16);
    }
    for (int64_t i = count; i < width; ++i) row[i] = 0;
  }
}

/// Packs `count` rows of A (or columns of B) from row i on, cells p to p + depth of K. `across` is the step
/// between rows (columns), `along` the step of K.
template <class Arch, int width>
void pack_quant_panel(const QuantMatrix& x, int64_t offset, int64_t across, int64_t along, int64_t i,
                      int64_t count, int64_t k, int64_t p, int64_t depth, int32_t* to) {
  const auto pack = [&]<class T>(T) {
    const T* from = static_cast<const T*>(x.data) + offset + i * across + 2 * p * along;
    const T* zero = x.zero == nullptr ? nullptr : static_cast<const T*>(x.zero) + i * x.zero_step;
    pack_pair_panel<Arch, width>(from, across, along, count, std::min(k - 2 * p, 2 * depth), zero,
                                 x.zero_step, to);
  };
  if (x.is_signed) pack(int8_t{});
  else pack(uint8_t{});
}

}  // namespace tenon::kernels::gemm_detail

namespace tenon::kernels {

template <class Arch>
void quant_gemm_impl(const QuantGemmArgs& g) {
  using namespace gemm_detail;
  using S = Tile<Pair, Arch>;
  const int64_t items = batch_items<Arch>(g.batch);
  if (g.m <= 0 || g.n <= 0 || items <= 0) return;
  Finish<int32_t> finish;
  finish.row_bias = g.row_bias;
  finish.col_bias = g.col_bias;
  const auto product = [&](int64_t item) {
    const int64_t a = g.packed_a != nullptr ? 0 : batch_offset<Arch>(g.batch, g.batch.a, item);
    const int64_t b = g.packed_b != nullptr ? 0 : batch_offset<Arch>(g.batch, g.batch.b, item);
    const auto pack_a = [a, &g](int64_t i, int64_t rows, int64_t p, int64_t depth, int32_t* to) {
      pack_quant_panel<Arch, S::rows>(g.a, a, g.a.row, g.a.col, i, rows, g.k, p, depth, to);
    };
    const auto pack_b = [b, &g](int64_t j, int64_t cols, int64_t p, int64_t depth, int32_t* to) {
      pack_quant_panel<Arch, S::cols>(g.b, b, g.b.col, g.b.row, j, cols, g.k, p, depth, to);
    };
    return Product<Pair, decltype(pack_a), decltype(pack_b)>{
        g.m,     g.n,    (g.k + 1) / 2, g.packed_a, g.packed_b,
        pack_a,  pack_b, nullptr,       0,          g.c + batch_offset<Arch>(g.batch, g.batch.c, item),
        g.c_row, finish};
  };
  run_products<Pair, Arch>(product(0), items, product);
}

template <class Arch>
int64_t quant_packed_a_size_impl(int64_t m, int64_t k) {
  return gemm_detail::packed_size(m, gemm_detail::Tile<gemm_detail::Pair, Arch>::rows, (k + 1) / 2);
}

template <class Arch>
int64_t quant_packed_b_size_impl(int64_t k, int64_t n) {
  return gemm_detail::packed_size(n, gemm_detail::Tile<gemm_detail::Pair, Arch>::cols, (k + 1) / 2);
}

template <class Arch>
void quant_pack_a_impl(const QuantGemmArgs& g, int32_t* packed) {
  using namespace gemm_detail;
  using S = Tile<Pair, Arch>;
  pack_whole<Arch, S::rows, S::depth>(
      g.m, (g.k + 1) / 2, packed, [&](int64_t i, int64_t rows, int64_t p, int64_t depth, int32_t* to) {
        pack_quant_panel<Arch, S::rows>(g.a, 0, g.a.row, g.a.col, i, rows, g.k, p, depth, to);
      });
}

template <class Arch>
void quant_pack_b_impl(const QuantGemmArgs& g, int32_t* packed) {
  using namespace gemm_detail;
  using S = Tile<Pair, Arch>;
  pack_whole<Arch, S::cols, S::depth>(
      g.n, (g.k + 1) / 2, packed, [&](int64_t j, int64_t cols, int64_t p, int64_t depth, int32_t* to) {
        pack_quant_panel<Arch, S::cols>(g.b, 0, g.b.col, g.b.row, j, cols, g.k, p, depth, to);
      });
}

}  // namespace tenon::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::kernels {

template void quant_gemm_impl<TENON_INSTANTIATE>(const QuantGemmArgs&);
template int64_t quant_packed_a_size_impl<TENON_INSTANTIATE>(int64_t, int64_t);
template int64_t quant_packed_b_size_impl<TENON_INSTANTIATE>(int64_t, int64_t);
template void quant_pack_a_impl<TENON_INSTANTIATE>(const QuantGemmArgs&, int32_t*);
template void quant_pack_b_impl<TENON_INSTANTIATE>(const QuantGemmArgs&, int32_t*);

}  // namespace tenon::kernels
#endif
