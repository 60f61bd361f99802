// Convolutions of 8-bit integers: the packed weights.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/gemm/byte_excess.hpp"
#include "tenon/kernels/gemm/bytes.hpp"
#include "tenon/kernels/quant_conv/args.hpp"

namespace tenon::TENON_ABI::kernels::quant_conv_detail {

using gemm_detail::ByteRows;
using gemm_detail::ConstantForm;
using gemm_detail::Excess;
using gemm_detail::ExcessLists;
using gemm_detail::Tile;
using gemm_detail::wrap_mul;
using gemm_detail::wrap_sub;

/// Extents of the packed weights. Cell (cell of channels, kernel place) of output channel m of a group is in
/// panel m / rows.
template <class Ops, class Arch>
struct WeightLayout {
  static constexpr int rows = Tile<Ops, Arch>::rows;
  static constexpr int64_t header = 16;  // int32_t, a cache line
  int64_t groups, m, channels, kernel, cells, depth;

  explicit WeightLayout(const ConvGeometry& g)
      : groups(g.groups), m(g.out_channels / g.groups), channels(g.in_channels / g.groups), kernel(1) {
    for (int d = 0; d < g.rank; ++d) kernel *= g.kernel[d];
    cells = (channels + Ops::per_cell - 1) / Ops::per_cell;
    depth = cells * kernel;
  }
  int64_t line() const { return (groups * m + 15) / 16 * 16; }
  int64_t group_size() const { return padded_rows() * depth; }
  int64_t padded_rows() const { return (m + rows - 1) / rows * rows; }
  int64_t blocks() const { return (depth + Tile<Ops, Arch>::depth - 1) / Tile<Ops, Arch>::depth; }
  // Contents: the header (form; whether a zero point is not 0; lists of excess, if any); for each output
  // channel the sum of its weights minus their number times the zero point, and the zero point; one panel
  // whose first row is ones; the panels of the groups; the lists.
  int64_t correction() const { return header; }
  int64_t zero() const { return header + line(); }
  int64_t ones() const { return header + 2 * line(); }
  int64_t panels() const { return ones() + rows * depth; }
  int64_t size() const { return panels() + groups * group_size(); }
  int64_t size_with_excess(int64_t places) const {
    return size() + (places > 0 ? ExcessLists::size(groups * padded_rows() * blocks(), places, 1) : 0);
  }
  /// The excess listed in `packed` for a block of output channel `row` of a group.
  Excess excess(const int32_t* packed, int64_t group, int64_t row, int64_t block) const {
    // Nothing is written.
    return {lists(const_cast<int32_t*>(packed)), (group * padded_rows() + row) * blocks() + block, 1};
  }
  ExcessLists lists(int32_t* packed) const { return {packed + size(), packed[2]}; }
};

inline ByteRows weight_rows(const QuantConvArgs& g) {
  int64_t kernel = 1;
  for (int d = 0; d < g.geometry.rank; ++d) kernel *= g.geometry.kernel[d];
  const int64_t k = g.geometry.in_channels / g.geometry.groups * kernel;
  return {static_cast<const uint8_t*>(g.w),
          k,
          1,
          g.geometry.out_channels,
          k,
          g.w_signed,
          static_cast<const uint8_t*>(g.w_zero),
          g.w_zero_step};
}

/// The weights of output channel c as Quad's cells of signed bytes: the weights of four channels at kernel
/// place t are at to[four * kernel + t].
template <class Ops, class Arch>
void load_cells(const WeightLayout<Ops, Arch>& l, const ByteRows& w, int64_t c, uint32_t* to) {
  const uint8_t* from = w.data + c * w.k;
  const int64_t whole = l.channels / 4 * l.kernel, left = l.channels % 4;
  const uint32_t flip = w.is_signed ? 0 : 0x80808080u;
  if (l.kernel == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(4 * whole));
  } else {
    for (int64_t four = 0; four < whole; four += l.kernel) {
      const uint8_t* const x = from + 4 * four;
      for (int64_t t = 0; t < l.kernel; ++t)
        to[four + t] = uint32_t{x[t]} | uint32_t{x[l.kernel + t]} << 8 | uint32_t{x[2 * l.kernel + t]} << 16 |
                       uint32_t{x[3 * l.kernel + t]} << 24;
    }
  }
  for (int64_t i = 0; i < whole; ++i) to[i] ^= flip;
  for (int64_t t = 0; t < l.kernel && left > 0; ++t) {
    uint32_t cell = 0;
    for (int64_t e = 0; e < left; ++e) cell |= uint32_t{from[4 * whole + e * l.kernel + t]} << 8 * e;
    to[whole + t] = cell ^ (flip & ((1u << 8 * left) - 1));
  }
}

/// The weights of output channel c minus their zero point as Pair's cells, written to every rows-th cell.
template <class Ops, class Arch>
void pack_pairs(const WeightLayout<Ops, Arch>& l, const ByteRows& w, int64_t c, int32_t* to) {
  const int32_t zero = w.zero_of(c);
  const uint8_t* from = w.data + c * w.k;
  for (int64_t k = 0; k < l.channels; ++k) {
    int32_t* cell = to + k / 2 * l.kernel * l.rows;
    for (int64_t t = 0; t < l.kernel; ++t, cell += l.rows) {
      const int32_t u = w.is_signed ? *from++ ^ 128 : *from++;
      *cell |= static_cast<int32_t>((static_cast<uint32_t>(u - zero) & 0xffff) << k % 2 * 16);
    }
  }
}

/// The sum of the weights of output channel c as signed bytes.
inline int32_t sum_of_weights(const ByteRows& w, int64_t c) {
  const uint8_t* const from = w.data + c * w.k;
  uint32_t sum = 0;
  for (int64_t i = 0; i < w.k; ++i)
    sum += static_cast<uint32_t>(int32_t{w.is_signed ? static_cast<int8_t>(from[i]) : from[i] - 128});
  return static_cast<int32_t>(sum);
}

/// Calls f(c, cells) for all output channels and their cells, in all threads.
template <class Ops, class Arch, class F>
void each_row(const WeightLayout<Ops, Arch>& l, const ByteRows& w, const F& f) {
  const int64_t grain = std::max<int64_t>(2 * task_work::bytes / std::max<int64_t>(w.k, 1), 1);
  parallel_for(w.count, grain, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    auto* const cells = scratch.take<uint32_t>(l.depth);
    for (int64_t c = begin; c < end; ++c) {
      if constexpr (Ops::per_cell == 4) load_cells(l, w, c, cells);
      f(c, cells);
    }
  });
}

/// The form for the weights, and the places of their excess.
template <class Arch>
ConstantForm weight_form(const QuantConvArgs& g) {
  const WeightLayout<gemm_detail::Quad<true, false>, Arch> l(g.geometry);
  const ByteRows w = weight_rows(g);
  return gemm_detail::constant_form<Arch>(w.count, l.depth, [&](int64_t most) {
    std::atomic<int64_t> places{0};
    each_row(l, w, [&](int64_t, const uint32_t* cells) {
      if (places.load(std::memory_order_relaxed) <= most)
        places.fetch_add(gemm_detail::count_excess<1>(cells, l.depth), std::memory_order_relaxed);
    });
    return places.load();
  });
}

template <class Ops, class Arch>
void pack_weights(const QuantConvArgs& g, const ConstantForm& form, int32_t* packed) {
  const WeightLayout<Ops, Arch> l(g.geometry);
  const ByteRows w = weight_rows(g);
  constexpr bool quads = Ops::per_cell == 4;
  constexpr int rows = l.rows, bits = 32 / Ops::per_cell;
  std::fill_n(packed, l.size(), 0);
  packed[0] = static_cast<int32_t>(form.form);
  for (int64_t c = 0; c < l.channels; ++c)
    for (int64_t t = 0; t < l.kernel; ++t)
      packed[l.ones() + (c / Ops::per_cell * l.kernel + t) * rows] |= 1 << (c % Ops::per_cell * bits);
  [[maybe_unused]] constexpr int64_t block = Tile<Ops, Arch>::depth;
  [[maybe_unused]] ExcessLists lists;
  [[maybe_unused]] const auto list_of = [&](int64_t c, int64_t p) {
    return (c / l.m * l.padded_rows() + c % l.m) * l.blocks() + p / block;
  };
  if constexpr (gemm_detail::may_exceed<Ops>) {
    if (form.places > 0) {
      packed[2] = static_cast<int32_t>(l.groups * l.padded_rows() * l.blocks());
      lists = l.lists(packed);
      std::fill_n(lists.begin, lists.lists + 1, 0);
      each_row(l, w, [&](int64_t c, const uint32_t* cells) {
        for (int64_t p = 0; p < l.depth; p += block)
          lists.template count<1>(list_of(c, p), cells + p, std::min(block, l.depth - p));
      });
      lists.sum_up();
    }
  }
  each_row(l, w, [&](int64_t c, uint32_t* cells) {
    const int64_t m = c % l.m;
    int32_t* const to = packed + l.panels() + c / l.m * l.group_size() + m / rows * rows * l.depth + m % rows;
    if constexpr (quads) {
      auto* const numbers = reinterpret_cast<int32_t*>(cells);
      if constexpr (gemm_detail::may_exceed<Ops>)
        for (int64_t p = 0; p < l.depth && lists.lists > 0; p += block)
          lists.template take<1>(list_of(c, p), numbers + p);
      for (int64_t p = 0; p < l.depth; ++p) to[p * rows] = numbers[p];
      const int32_t zero = w.zero_of(c) - 128;
      packed[l.zero() + c] = zero;
      packed[l.correction() + c] = wrap_sub(sum_of_weights(w, c), wrap_mul(static_cast<int32_t>(w.k), zero));
    } else {
      pack_pairs(l, w, c, to);
    }
  });
  for (int64_t c = 0; c < l.groups * l.m; ++c) packed[1] |= packed[l.zero() + c] != 0;
}

}  // namespace tenon::TENON_ABI::kernels::quant_conv_detail
