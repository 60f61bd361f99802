// Products of 8-bit integers: bodies. Both operands are packed before the product, as described in bytes.hpp;
// for Quad cells A is the unsigned operand.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/kernels/gemm/blocks.hpp"
#include "tenon/kernels/gemm/byte_rows.hpp"
#include "tenon/kernels/gemm/byte_tiles.hpp"
#include "tenon/kernels/gemm/bytes.hpp"
#include "tenon/kernels/gemm/quant_gemm.hpp"

namespace tenon::TENON_ABI::kernels::gemm_detail {

inline constexpr int64_t image_header = 16;  // int32_t, a cache line

constexpr int64_t line_rounded(int64_t count) { return (count + 15) / 16 * 16; }

/// A packed operand: a header that names its form, the correction and the zero point of each row (column),
/// the panels, and lists of excess if the header counts any. The correction of A is the sum of a row; the
/// correction of B is the sum of a column minus K times its zero point.
struct ByteImage {
  int32_t* at;
  int64_t count;

  static constexpr int64_t size(int64_t count, int64_t width, int64_t depth) {
    return image_header + 2 * line_rounded(count) + packed_size(count, width, depth);
  }
  ByteForm form() const { return static_cast<ByteForm>(at[0]); }
  bool one_zero() const { return at[1] != 0; }
  int32_t* correction() const { return at + image_header; }
  int32_t* zero() const { return correction() + line_rounded(count); }
  int32_t* cells() const { return zero() + line_rounded(count); }
  int32_t& lists() const { return at[2]; }
  ExcessLists excess(int64_t width, int64_t depth) const { return {at + size(count, width, depth), lists()}; }
};

/// Packs `items` operands of equal extents to images `step` apart; rows(item) is the operand.
template <class Ops, class Arch, int width, class Rows>
void pack_images(ByteForm form, bool is_b, int64_t items, const Rows& rows, int32_t* images, int64_t step) {
  const ByteRows shape = rows(0);
  const int64_t panels = (shape.count + width - 1) / width;
  const int64_t grain = std::max<int64_t>(task_work::bytes / std::max<int64_t>(width * shape.k, 1), 1);
  for (int64_t item = 0; item < items; ++item) {
    int32_t* const at = images + item * step;
    at[0] = static_cast<int32_t>(form);
    at[1] = shape.one_zero();
    at[2] = 0;
  }
  parallel_for(items * panels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const ByteRows x = rows(t / panels);
      const ByteImage image{images + t / panels * step, x.count};
      const int64_t i = t % panels * width;
      if constexpr (requires { typename Ops::Unit; }) {
        if (is_b) pack_bytes<Ops, Arch, width>(x, true, i, image.cells(), image.correction());
        else pack_byte_rows<Ops, Arch>(x, i, image.cells(), image.correction());
      } else {
        pack_bytes<Ops, Arch, width>(x, is_b, i, image.cells(), image.correction());
      }
      if (Ops::per_cell == 2) continue;
      for (int64_t e = i; e < std::min(i + width, x.count); ++e) {
        const int32_t zero = x.zero_of(e) - (is_b ? 128 : lowers<Ops, Arch>);
        image.zero()[e] = zero;
        if (is_b)
          image.correction()[e] = wrap_sub(image.correction()[e], wrap_mul(static_cast<int32_t>(x.k), zero));
        else if constexpr (lowers<Ops, Arch> != 0)
          image.correction()[e] =
              wrap_sub(image.correction()[e], wrap_mul(static_cast<int32_t>(x.k), lowers<Ops, Arch>));
      }
    }
  });
}

inline ByteRows rows_of_a(const QuantGemmArgs& g, int64_t offset) {
  return {static_cast<const uint8_t*>(g.a.data) + offset, g.a.row,      g.a.col, g.m, g.k, g.a.is_signed,
          static_cast<const uint8_t*>(g.a.zero),          g.a.zero_step};
}
inline ByteRows columns_of_b(const QuantGemmArgs& g, int64_t offset) {
  return {static_cast<const uint8_t*>(g.b.data) + offset, g.b.col,      g.b.row, g.n, g.k, g.b.is_signed,
          static_cast<const uint8_t*>(g.b.zero),          g.b.zero_step};
}

/// f(Ops) with the operations of a form.
template <class Arch, class F>
void with_any_form(ByteForm form, F f) {
  if constexpr (simd::may_have_tiles<Arch>)
    if (form == ByteForm::tiles) return f(TileQuad<simd::Tiles<Arch>>{});
  with_form<Arch, false>(form, f);
}

/// The form for a constant B.
template <class Arch>
ConstantForm form_of_b(const QuantGemmArgs& g) {
  if (simd::has_tiles<Arch>()) return {ByteForm::tiles};
  constexpr int64_t cols = Tile<Quad<false, false>, Arch>::cols;
  return constant_form<Arch>((g.n + cols - 1) / cols, (g.k + 3) / 4, [&](int64_t most) {
    return excess_places<Arch, cols>(columns_of_b(g, 0), most);
  });
}

/// The lists of excess of B, per panel and block.
template <class Ops, class Arch>
int64_t lists_of_b(const QuantGemmArgs& g) {
  using S = Tile<Ops, Arch>;
  return (g.n + S::cols - 1) / S::cols * ((depth_of<Ops>(g.k) + S::depth - 1) / S::depth);
}

/// The packing functions of a product with packed operands.
struct Packed {
  template <class Cell>
  void operator()(int64_t, int64_t, int64_t, int64_t, Cell*) const {}
};

/// C -= a_zero (i) * correction of B (j) + correction of A (i) * b_zero (j), then dequantised if requested by
/// g.
template <class Arch>
void correct(const QuantGemmArgs& g, const ByteImage& a, const ByteImage& b, int32_t* c) {
  const int32_t* __restrict b_correction = b.correction(), * __restrict b_zero = b.zero();
  parallel_for(g.m, std::max<int64_t>(task_work::cheap / g.n, 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int32_t a_zero = a.zero()[i], a_correction = a.correction()[i];
      const auto subtract = [&](int32_t* __restrict row) {
        for (int64_t j = 0; j < g.n; ++j)
          row[j] = wrap_sub(row[j],
                            wrap_add(wrap_mul(a_zero, b_correction[j]), wrap_mul(a_correction, b_zero[j])));
      };
      int32_t* const row = c + i * g.c_row;
      subtract(row);
      if (g.floats != nullptr)
        finish_sums<Arch>(row, g.n, 1, g.n, i, 0, Finish<int32_t>{.floats = g.floats}, true, true, c,
                          g.c_row);
    }
  });
}

/// Whether A's rows are read in place, as words of unsigned bytes: their sums are not needed because B's zero
/// point is in the middle of its range, and B has too few panels for packing A to pay.
template <class Ops, class Arch>
bool stays(const QuantGemmArgs& g) {
  if constexpr (always_packed<Ops, Arch> || requires { typename Ops::Unit; }) {
    return false;
  } else {
    using S = Tile<Ops, Arch>;
    const ByteRows a = rows_of_a(g, 0), b = columns_of_b(g, 0);
    const auto in_words = [](int64_t bytes) { return bytes % 4 == 0; };
    const int64_t last = g.n % simd::lanes<int32_t, Arch>;
    if (a.is_signed || a.k_step != 1 || !a.one_zero() || !in_words(a.k) || !in_words(a.step) ||
        !in_words(static_cast<int64_t>(reinterpret_cast<uintptr_t>(a.data) % 4)) || g.n > 16 * S::cols ||
        (narrow_fits<Ops, Arch> && last != 0 && last <= 3))
      return false;
    for (int axis = 0; g.batch.a != nullptr && axis < g.batch.rank; ++axis)
      if (!in_words(g.batch.a[axis])) return false;
    if (g.packed_b == nullptr) return b.zero_of(0) == 128 && b.one_zero();
    ByteImage image{const_cast<int32_t*>(g.packed_b), g.n};
    return image.zero()[0] == 0 && image.one_zero() && image.lists() == 0;
  }
}

template <class Ops, class Arch>
void multiply_bytes(const QuantGemmArgs& g, ByteForm form) {
  using S = Tile<Ops, Arch>;
  constexpr bool quads = Ops::per_cell == 4;
  const int64_t items = batch_items<Arch>(g.batch), depth = depth_of<Ops>(g.k);
  const auto shared = [&](const int64_t* strides) {
    return strides == nullptr ||
           std::all_of(strides, strides + g.batch.rank, [](int64_t s) { return s == 0; });
  };
  const bool plain_a = stays<Ops, Arch>(g), same_a = shared(g.batch.a);
  const bool one_a = plain_a || same_a, one_b = g.packed_b != nullptr || items == 1 || shared(g.batch.b);
  const int64_t a_size = ByteImage::size(g.m, S::rows, depth), b_size = ByteImage::size(g.n, S::cols, depth);
  // Operands are packed for as many items at a time as fit into the last-level cache.
  constexpr int64_t most = cache_bytes::l3 / int64_t{sizeof(int32_t)};
  const int64_t at_once = std::clamp<int64_t>(most / (a_size + b_size), 1, items);
  Scratch scratch;
  // As much for an A that stays, so that neither its address nor zero points decide how much memory is taken.
  int32_t* a_images = scratch.take<int32_t>(a_size * (same_a ? 1 : at_once));
  const int64_t copies = g.packed_b == nullptr && items == 1 ? b_copies<Arch>(g.m, b_size, most) : 1;
  int32_t* b_images =
      g.packed_b != nullptr ? nullptr : scratch.take<int32_t>(b_size * (one_b ? copies : at_once));
  const int64_t bias_step = line_rounded(g.m) + line_rounded(g.n);
  int32_t* biases = quads ? scratch.take<int32_t>(bias_step * at_once) : nullptr;
  for (int64_t first = 0; first < items; first += at_once) {
    const int64_t count = std::min(at_once, items - first);
    if (plain_a) {
      const ByteImage image{a_images, g.m};
      image.at[1] = 1;
      std::fill_n(image.correction(), g.m, 0);
      std::fill_n(image.zero(), g.m, rows_of_a(g, 0).zero_of(0));
    } else if (first == 0 || !one_a) {
      pack_images<Ops, Arch, S::rows>(
          form, false, one_a ? 1 : count,
          [&](int64_t item) { return rows_of_a(g, batch_offset<Arch>(g.batch, g.batch.a, first + item)); },
          a_images, a_size);
    }
    if (g.packed_b == nullptr && (first == 0 || !one_b))
      pack_images<Ops, Arch, S::cols>(
          form, true, one_b ? copies : count,
          [&](int64_t item) {
            return columns_of_b(g, one_b ? 0 : batch_offset<Arch>(g.batch, g.batch.b, first + item));
          },
          b_images, b_size);
    const auto a_of = [&](int64_t item) { return ByteImage{a_images + (one_a ? 0 : item * a_size), g.m}; };
    const auto b_of = [&](int64_t item) {
      // The caller's packed operand is not written to.
      if (g.packed_b != nullptr) return ByteImage{const_cast<int32_t*>(g.packed_b), g.n};
      return ByteImage{b_images + (one_b ? 0 : item * b_size), g.n};
    };
    const bool one_zero = a_of(0).one_zero() && b_of(0).one_zero();
    if (quads && one_zero)
      for (int64_t item = 0; item < count; ++item) {
        const ByteImage a = a_of(item), b = b_of(item);
        int32_t *rows = biases + item * bias_step, *cols = rows + line_rounded(g.m);
        for (int64_t i = 0; i < g.m; ++i)
          rows[i] =
              wrap_sub(g.row_bias != nullptr ? g.row_bias[i] : 0, wrap_mul(a.correction()[i], b.zero()[0]));
        for (int64_t j = 0; j < g.n; ++j)
          cols[j] =
              wrap_sub(g.col_bias != nullptr ? g.col_bias[j] : 0, wrap_mul(b.correction()[j], a.zero()[0]));
      }
    const auto c_of = [&](int64_t item) {
      return g.c + batch_offset<Arch>(g.batch, g.batch.c, first + item);
    };
    const auto product = [&](int64_t item) {
      const ByteImage a = a_of(item), b = b_of(item);
      Finish<int32_t> finish;
      finish.row_bias = g.row_bias;
      finish.col_bias = g.col_bias;
      if (!quads || one_zero) finish.floats = g.floats;
      if (quads && one_zero) {
        const int32_t* rows = biases + item * bias_step;
        if (b.zero()[0] != 0) finish.row_bias = rows;
        if (a.zero()[0] != 0) finish.col_bias = rows + line_rounded(g.m);
      }
      Product<Ops, Packed, Packed> q{.m = g.m,
                                     .n = g.n,
                                     .depth = depth,
                                     .packed_a = plain_a ? nullptr : a.cells(),
                                     .packed_b = b.cells(),
                                     .pack_a = {},
                                     .pack_b = {},
                                     .plain_b = nullptr,
                                     .plain_b_row = 0,
                                     .c = c_of(item),
                                     .c_row = g.c_row,
                                     .finish = finish};
      if (plain_a) {
        const auto* data = static_cast<const uint8_t*>(g.a.data);
        const int64_t offset = batch_offset<Arch>(g.batch, g.batch.a, first + item);
        q.plain_a = reinterpret_cast<const int32_t*>(data + offset);
        q.plain_a_row = g.a.row / 4;
      }
      q.b_copies = copies, q.b_copy_cells = b_size;
      if constexpr (may_exceed<Ops>) q.excess = b.excess(S::cols, depth);
      return q;
    };
    run_products<Ops, Arch>(product(0), count, product);
    for (int64_t item = 0; quads && !one_zero && item < count; ++item)
      correct<Arch>(g, a_of(item), b_of(item), c_of(item));
  }
}

}  // namespace tenon::TENON_ABI::kernels::gemm_detail

namespace tenon::TENON_ABI::kernels {

template <class Arch>
void quant_gemm_impl(const QuantGemmArgs& g) {
  using namespace gemm_detail;
  if (g.m <= 0 || g.n <= 0 || batch_items<Arch>(g.batch) <= 0) return;
  if (has_few_byte_rows<Arch>(g)) {
    if (simd::has_dot_bytes<Arch>()) few_rows_product<true, Arch>(g);
    else few_rows_product<false, Arch>(g);
    return;
  }
  // A B that is packed for a single product is not worth inspecting.
  const ByteForm form = g.packed_b != nullptr         ? static_cast<ByteForm>(g.packed_b[0])
                        : simd::has_tiles<Arch>()     ? ByteForm::tiles
                        : simd::has_dot_bytes<Arch>() ? ByteForm::quads
                                                      : ByteForm::pairs;
  with_any_form<Arch>(form, [&]<class Ops>(Ops) { multiply_bytes<Ops, Arch>(g, form); });
}

template <class Arch>
int64_t quant_packed_b_size_impl(const QuantGemmArgs& g) {
  using namespace gemm_detail;
  const ConstantForm form = form_of_b<Arch>(g);
  int64_t size = 0;
  with_any_form<Arch>(form.form, [&]<class Ops>(Ops) {
    using S = Tile<Ops, Arch>;
    const int64_t depth = depth_of<Ops>(g.k);
    size = ByteImage::size(g.n, S::cols, depth);
    if (form.places > 0) size += ExcessLists::size(lists_of_b<Ops, Arch>(g), form.places, S::cols);
  });
  return size;
}

template <class Arch>
void quant_pack_b_impl(const QuantGemmArgs& g, int32_t* packed) {
  using namespace gemm_detail;
  const ConstantForm form = form_of_b<Arch>(g);
  // The cells that nothing reads are zeros as well: packed operands are written into headers and compared.
  std::fill_n(packed, image_header + 2 * line_rounded(g.n), 0);
  with_any_form<Arch>(form.form, [&]<class Ops>(Ops) {
    using S = Tile<Ops, Arch>;
    pack_images<Ops, Arch, S::cols>(
        form.form, true, 1, [&](int64_t) { return columns_of_b(g, 0); }, packed, 0);
    if constexpr (may_exceed<Ops>) {
      if (form.places == 0) return;
      const ByteImage image{packed, g.n};
      const int64_t depth = depth_of<Ops>(g.k), blocks = (depth + S::depth - 1) / S::depth;
      image.lists() = static_cast<int32_t>(lists_of_b<Ops, Arch>(g));
      const ExcessLists lists = image.excess(S::cols, depth);
      // Calls f(list, cells, places) for each panel and block.
      const auto each = [&](const auto& f) {
        parallel_for(lists.lists, 1, [&](int64_t begin, int64_t end) {
          for (int64_t list = begin; list < end; ++list) {
            const int64_t p = list % blocks * S::depth, places = std::min(S::depth, depth - p);
            f(list, image.cells() + packed_size(g.n, S::cols, p) + list / blocks * S::cols * places, places);
          }
        });
      };
      each([&](int64_t list, const int32_t* cells, int64_t places) {
        lists.template count<S::cols>(list, cells, places);
      });
      lists.sum_up();
      each([&](int64_t list, int32_t* cells, int64_t) { lists.template take<S::cols>(list, cells); });
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

template void quant_gemm_impl<TENON_INSTANTIATE>(const QuantGemmArgs&);
template int64_t quant_packed_b_size_impl<TENON_INSTANTIATE>(const QuantGemmArgs&);
template void quant_pack_b_impl<TENON_INSTANTIATE>(const QuantGemmArgs&, int32_t*);

}  // namespace tenon::TENON_ABI::kernels
#endif
