// Convolutions of 8-bit integers: bodies.
//
// The input is copied once, with its padding, as planes of cells: two or four neighbouring channels of one
// place (gemm/bytes.hpp). An axis with a stride is split into phases, so that neighbouring outputs see
// neighbouring cells through every kernel place. No such copy is made if each output sees a single place.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/quant_conv.hpp"
#include "tenon/kernels/conv/quant_conv_bytes.hpp"
#include "tenon/kernels/conv/quant_conv_depthwise.hpp"
#include "tenon/kernels/conv/quant_conv_planes.hpp"
#include "tenon/kernels/gemm/bytes.hpp"

namespace tenon::TENON_ABI::kernels::quant_conv_detail {

using gemm_detail::ByteForm;
using gemm_detail::ByteRows;
using gemm_detail::ConstantForm;
using gemm_detail::Excess;
using gemm_detail::ExcessLists;
using gemm_detail::Tile;
using gemm_detail::with_form;
using gemm_detail::wrap_add;
using gemm_detail::wrap_mul;
using gemm_detail::wrap_sub;

// ------------------------------------------------------------------------------------------------- weights

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
  const int64_t grain = std::max<int64_t>((int64_t{1} << 17) / std::max<int64_t>(w.k, 1), 1);
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

// --------------------------------------------------------------------------------------------------- tiles

/// Neighbouring outputs of a tile that see neighbouring cells: the first one's column, its place in the
/// planes, and their count.
struct Run {
  int64_t column, place, count;
};

/// Lists the runs of outputs [first, first + count).
template <class Arch>
int64_t list_runs(const PlaneLayout<Arch>& l, int64_t first, int64_t count, Run* runs) {
  const int inner = l.w.rank - 1;
  const int64_t out = l.w.axis[inner].out;
  int64_t n = 0;
  for (int64_t o = first; o < first + count; ++n) {
    int64_t row = o / out, place = o % out;
    const int64_t end = std::min(row * out + out, first + count);
    for (int d = inner - 1; d >= 0; --d) {
      place += row % l.w.axis[d].out * l.axis[d].pitch;
      row /= l.w.axis[d].out;
    }
    runs[n] = {o - first, place, end - o};
    o = end;
  }
  return n;
}

/// Copies the cells that the runs see at offsets `offset` to rows of S::cols cells; up to a vector past the
/// last row may be overwritten.
template <class S, class Arch>
void gather_cells(const int32_t* planes, const int64_t* offset, int64_t depth, const Run* runs, int64_t count,
                  int32_t* to) {
  constexpr int L = simd::lanes<int32_t, Arch>;
  if (count == 1) {
    for (int64_t p = 0; p < depth; ++p, to += S::cols)
#pragma GCC unroll 4
      for (int c = 0; c < S::cols; c += L)
        simd::storeu(to + c, simd::loadu<Arch>(planes + offset[p] + runs->place + c));
    return;
  }
  for (int64_t p = 0; p < depth; ++p, to += S::cols)
    for (const Run* run = runs; run < runs + count; ++run) {
      const int32_t* const from = planes + offset[p] + run->place;
      for (int64_t c = 0; c < run->count; c += L)
        simd::storeu(to + run->column + c, simd::loadu<Arch>(from + c));
    }
}

/// Cells of neighbouring places of a plain image, in gather_cells' layout: `count` columns. Up to 16 cells
/// past them may be overwritten.
template <class Ops, class S, class Arch>
void gather_bytes(const uint8_t* x, int64_t plane, int64_t channels, int64_t count, uint8_t flip,
                  int32_t zero, int32_t* to) {
  constexpr int width = 16;
  uint8_t nothing[width];
  std::fill_n(nothing, width, static_cast<uint8_t>(zero ^ flip));
  for (int64_t c = 0; c < channels; c += Ops::per_cell, to += S::cols)
    for (int64_t j = 0; j < count; j += width) {
      uint8_t last[Ops::per_cell][width];
      const uint8_t* row[Ops::per_cell];
      for (int e = 0; e < Ops::per_cell; ++e) {
        row[e] = c + e < channels ? x + (c + e) * plane + j : nothing;
        if (count - j < width && c + e < channels)
          row[e] = static_cast<uint8_t*>(std::memcpy(last[e], row[e], static_cast<std::size_t>(count - j)));
      }
      if constexpr (Ops::per_cell == 2) {
        simd::interleave_pairs<Arch>(row[0], row[1], flip, zero, to + j);
      } else {
        simd::interleave_bytes<Arch>(row[0], row[1], row[2], row[3], reinterpret_cast<uint32_t*>(to + j));
        for (int e = 0; flip != 0 && e < width; ++e) to[j + e] ^= static_cast<int32_t>(flip * 0x1010101u);
      }
    }
}

/// For planes that would be much larger than input and output: computes every output separately.
template <class Ops, class Arch>
class SparseConv {
 public:
  SparseConv(const QuantConvArgs& g, const WeightLayout<Ops, Arch>& l, const SlidingWindow<Arch>& w,
             const int32_t* packed)
      : g_(g), l_(l), w_(w), packed_(packed) {}

  void run() const {
    const int64_t out = w_.out_cells();
    parallel_for(g_.geometry.batch * g_.geometry.out_channels, 1, [&](int64_t begin, int64_t end) {
      constexpr int lanes = simd::lanes<int32_t, Arch>;
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t c = plane % g_.geometry.out_channels;
        int64_t o[max_spatial] = {};
        for (int64_t e = 0; e < out; ++e) {
          const int32_t value[2 * lanes] = {sum(plane / g_.geometry.out_channels, c, o)};
          if (g_.y != nullptr) {
            g_.y[plane * out + e] = value[0];
          } else {
            make_bytes<Arch>(value, 1, 0, g_.bytes.scale[c], g_.bytes,
                             static_cast<uint8_t*>(g_.bytes.y) + plane * out + e);
          }
          step<Arch>(w_.rank, o, [&](int d) { return w_.axis[d].out; });
        }
      }
    });
  }

 private:
  /// The sum of output channel c at place `o`.
  int32_t sum(int64_t image, int64_t c, const int64_t* o) const {
    const int64_t group = c / l_.m, in = w_.in_cells();
    const uint8_t* from =
        static_cast<const uint8_t*>(g_.x) + (image * g_.geometry.in_channels + group * l_.channels) * in;
    uint32_t sum = g_.bias != nullptr ? static_cast<uint32_t>(g_.bias[c]) : 0;
    int64_t at[max_spatial] = {};
    for (int64_t t = 0; t < l_.kernel; ++t) {
      int64_t place = 0;
      bool inside = true;
      for (int d = 0; d < w_.rank; ++d) {
        const int64_t i = o[d] * w_.axis[d].stride + at[d] * w_.axis[d].dilation - w_.axis[d].pad;
        inside = inside && i >= 0 && i < w_.axis[d].in;
        place = place * w_.axis[d].in + i;
      }
      for (int64_t k = 0; inside && k < l_.channels; ++k) {
        const uint8_t byte = from[k * in + place];
        const int32_t number = g_.x_signed ? static_cast<int8_t>(byte) : int32_t{byte};
        sum += static_cast<uint32_t>((weight(c, k, t) - packed_[l_.zero() + c]) * (number - g_.x_zero));
      }
      step<Arch>(w_.rank, at, [&](int d) { return w_.axis[d].kernel; });
    }
    return static_cast<int32_t>(sum);
  }
  /// The weight of output channel c, input channel k of its group and kernel place t.
  int32_t weight(int64_t c, int64_t k, int64_t t) const {
    constexpr int bits = 32 / Ops::per_cell;
    const int64_t m = c % l_.m;
    const int32_t* row =
        packed_ + l_.panels() + c / l_.m * l_.group_size() + m / l_.rows * l_.rows * l_.depth + m % l_.rows;
    const int64_t place = k / Ops::per_cell * l_.kernel + t;
    const auto number = [&](int32_t cell) {
      return static_cast<int32_t>(static_cast<uint32_t>(cell) << (32 - bits - k % Ops::per_cell * bits)) >>
             (32 - bits);
    };
    int32_t weight = number(row[place * l_.rows]);
    if constexpr (gemm_detail::may_exceed<Ops>) {
      constexpr int64_t block = Tile<Ops, Arch>::depth;
      const Excess excess = l_.excess(packed_, c / l_.m, m, place / block);
      for (int64_t i = 0; i < excess.count; ++i)
        if (excess.places[i] == place % block) weight += number(excess.cells[i]);
    }
    return weight;
  }

  const QuantConvArgs& g_;
  const WeightLayout<Ops, Arch>& l_;
  const SlidingWindow<Arch>& w_;
  const int32_t* const packed_;
};

/// A tile is a panel of output channels times neighbouring outputs. The cells that these see are copied side
/// by side, for all panels whose weights stay in a cache.
template <class Ops, class Arch>
class PlaneConv {
 public:
  PlaneConv(const QuantConvArgs& g, const WeightLayout<Ops, Arch>& weights, const PlaneLayout<Arch>& l,
            const int32_t* packed)
      : g_(g),
        weights_(weights),
        l_(l),
        packed_(packed),
        items_(g.geometry.batch * g.geometry.groups),
        plain_(l.w.identity()),
        image_(plain_ ? 0 : weights.cells * l.cells() + S::cols),
        at_once_(plain_ ? items_ : std::clamp<int64_t>((int64_t{8} << 20) / image_, 1, items_)),
        panels_((weights.m + S::rows - 1) / S::rows),
        shallow_(weights.depth <= S::depth / 2),
        width_(
            (shallow_ ? std::min(S::depth / std::max<int64_t>(weights.depth, 1), most_tiles) : deep_tiles) *
            S::cols),
        outputs_(l.w.out_cells()),
        offset_(scratch_.take<int64_t>(weights.depth)),
        images_(scratch_.take<int32_t>(image_ * at_once_)) {
    int64_t at[max_spatial] = {};
    for (int64_t t = 0; t < weights.kernel; ++t) {
      for (int64_t c = 0; c < weights.cells; ++c) offset_[c * weights.kernel + t] = c * l.cells() + l.tap(at);
      step<Arch>(l.w.rank, at, [&](int d) { return l.w.axis[d].kernel; });
    }
  }

  void run() const {
    for (int64_t first = 0; first < items_; first += at_once_) {
      const int64_t count = std::min(at_once_, items_ - first);
      if (!plain_) fill(first, count);
      compute(first, count);
    }
  }

 private:
  using S = Tile<Ops, Arch>;
  static constexpr int lanes = simd::lanes<int32_t, Arch>;
  // Weights of this many panels, at S::depth cells, stay in the second-level cache.
  static constexpr int64_t most_panels = 128 / S::rows, most_tiles = 16, deep_tiles = 4;

  /// Copies the images of items [first, first + count) to their planes.
  void fill(int64_t first, int64_t count) const {
    const int64_t fours = (weights_.channels + 3) / 4, in = l_.w.in_cells();
    const int32_t zero = x_zero();
    parallel_for(count * fours, std::max<int64_t>((int64_t{1} << 15) / l_.cells(), 1),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t f = begin; f < end; ++f) {
                     const int64_t item = f / fours, c = f % fours * 4;
                     fill_planes<Ops, Arch>(
                         l_,
                         static_cast<const uint8_t*>(g_.x) + ((first + item) * weights_.channels + c) * in,
                         g_.x_signed, zero, weights_.channels - c,
                         images_ + item * image_ + c / Ops::per_cell * l_.cells());
                   }
                 });
  }

  /// Computes the outputs of these items: tasks are outputs times the panels that share them.
  void compute(int64_t first, int64_t count) const {
    const int64_t strips = (outputs_ + width_ - 1) / width_;
    int64_t panels = std::min(panels_, most_panels);
    while (panels > 16 / S::rows && count * strips * (panels_ / panels) < 2 * threads_at_hand()) panels /= 2;
    const int64_t blocks = (panels_ + panels - 1) / panels;
    const int64_t work = width_ * std::min(weights_.m, panels * S::rows) * weights_.depth * Ops::per_cell;
    parallel_for(count * blocks * strips,
                 std::max<int64_t>((int64_t{1} << 20) / std::max<int64_t>(work, 1), 1),
                 [&](int64_t begin, int64_t end) {
                   Scratch scratch;
                   int32_t* const cells = scratch.take<int32_t>(S::depth * S::cols + 16);
                   int32_t* const sums = scratch.take<int32_t>(most_panels * S::rows * width_);
                   for (int64_t t = begin; t < end; ++t) {
                     const int64_t panel = t / strips % blocks * panels;
                     compute_strip(first, t / (blocks * strips), panel, std::min(panel + panels, panels_),
                                   t % strips * width_, cells, sums);
                   }
                 });
  }

  /// The tiles of panels [panel, end_panel) and outputs from j on, for item first + image.
  void compute_strip(int64_t first, int64_t image, int64_t panel, int64_t end_panel, int64_t j,
                     int32_t* cells, int32_t* sums) const {
    alignas(64) int32_t window[most_tiles * S::cols];
    const int64_t item = first + image, group = item % g_.geometry.groups, m = panel * S::rows;
    const int64_t rows = std::min(weights_.m, end_panel * S::rows) - m, cols = std::min(width_, outputs_ - j);
    const int32_t* const a = packed_ + weights_.panels() + group * weights_.group_size() + m * weights_.depth;
    const int32_t* const zeros = packed_[1] != 0 ? window : nullptr;
    const auto gather = [&](int64_t p, int64_t depth, int64_t c, int32_t* to) {
      const int64_t n = std::min<int64_t>(S::cols, cols - c);
      if (plain_) {
        const int64_t channel = p * Ops::per_cell;
        const auto* const x =
            static_cast<const uint8_t*>(g_.x) + (item * weights_.channels + channel) * outputs_ + j + c;
        return gather_bytes<Ops, S, Arch>(x, outputs_,
                                          std::min(depth * Ops::per_cell, weights_.channels - channel), n,
                                          g_.x_signed ? 128 : 0, x_zero(), to);
      }
      Run runs[S::cols];
      const int64_t count = list_runs<Arch>(l_, j + c, n, runs);
      gather_cells<S, Arch>(images_ + image * image_, offset_ + p, depth, runs, count, to);
    };
    const auto sum = [&](int64_t depth, int64_t n, const int32_t* from, const int32_t* ahead, int64_t c,
                         const int32_t* b, bool adds, int32_t* to) {
      const int64_t vectors = (std::min<int64_t>(S::cols, cols - c) + lanes - 1) / lanes;
      gemm_detail::tile_for<Ops, Arch>(n, static_cast<int>(vectors))(
          depth, {from, 1, S::rows, b, S::cols, 0, ahead, S::rows},
          {to + c, width_, adds ? to + c : nullptr, width_, nullptr, nullptr, 1, false, 0, 0, false,
           nullptr});
    };
    const auto sum_window = [&](int64_t p, int64_t depth, int64_t c, const int32_t* b) {
      const int32_t* const ones = packed_ + weights_.ones() + p * S::rows;
      if (zeros != nullptr) sum(depth, 1, ones, ones, c, b, p > 0, window);
    };
    const auto sum_panel = [&](int64_t p, int64_t depth, int64_t r, int64_t c, const int32_t* b,
                               int32_t* to) {
      const int32_t* const from = a + r * weights_.depth + p * S::rows;
      const int64_t n = std::min<int64_t>(S::rows, rows - r);
      sum(depth, n, from, from + weights_.depth * S::rows, c, b, p > 0, to);
      if constexpr (gemm_detail::may_exceed<Ops>) {
        if (packed_[2] == 0) return;
        const int64_t vectors = (std::min<int64_t>(S::cols, cols - c) + lanes - 1) / lanes;
        for (int64_t i = 0; i < n; ++i) {
          const Excess excess = weights_.excess(packed_, group, m + r + i, p / S::depth);
          int32_t* const row = to + i * width_ + c;
          if (vectors == S::vectors) add_excess<S::vectors>(excess, b, row);
          else
            for (int64_t v = 0; v < vectors; ++v) add_excess<1>(excess, b + v * lanes, row + v * lanes);
        }
      }
    };
    const auto finish = [&](int64_t r, int32_t* row) {
      finish_row(item / g_.geometry.groups, group * weights_.m + m + r, j, cols, zeros, row);
    };
    if (shallow_) {
      // A panel's results are written in whole cache lines.
      for (int64_t c = 0; c < cols; c += S::cols) {
        gather(0, weights_.depth, c, cells + c * weights_.depth);
        sum_window(0, weights_.depth, c, cells + c * weights_.depth);
      }
      for (int64_t r = 0; r < rows; r += S::rows) {
        for (int64_t c = 0; c < cols; c += S::cols)
          sum_panel(0, weights_.depth, r, c, cells + c * weights_.depth, sums);
        for (int64_t i = 0; i < std::min<int64_t>(S::rows, rows - r); ++i) finish(r + i, sums + i * width_);
      }
      return;
    }
    for (int64_t p = 0; p < weights_.depth; p += S::depth) {
      const int64_t depth = std::min(S::depth, weights_.depth - p);
      for (int64_t c = 0; c < cols; c += S::cols) {
        gather(p, depth, c, cells);
        sum_window(p, depth, c, cells);
        for (int64_t r = 0; r < rows; r += S::rows) sum_panel(p, depth, r, c, cells, sums + r * width_);
      }
    }
    for (int64_t r = 0; r < rows; ++r) finish(r, sums + r * width_);
  }

  /// Adds the products of a row's excess to its sums.
  template <int vectors>
  static void add_excess(const Excess& excess, const int32_t* b, int32_t* to) {
    using V = simd::batch<int32_t, Arch>;
    if (excess.count == 0) return;
    V sum[vectors];
    for (int v = 0; v < vectors; ++v) sum[v] = simd::loadu<Arch>(to + v * lanes);
    for (int64_t i = 0; i < excess.count; ++i) {
      const V a(excess.cells[i]);
      const int32_t* const from = b + excess.places[i] * S::cols;
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v)
        sum[v] = Ops::add_product(a, simd::loadu<Arch>(from + v * lanes), sum[v]);
    }
    for (int v = 0; v < vectors; ++v) simd::storeu(to + v * lanes, sum[v]);
  }

  /// Finishes a row of sums: outputs [j, j + cols) of channel c. The sums of the window, if given, are the
  /// sums of numbers that multiply the zero points of weights.
  void finish_row(int64_t image, int64_t c, int64_t j, int64_t cols, const int32_t* window,
                  int32_t* row) const {
    const int64_t at = (image * g_.geometry.out_channels + c) * outputs_ + j;
    int32_t add = g_.bias != nullptr ? g_.bias[c] : 0;
    if (Ops::per_cell == 4) add = wrap_sub(add, wrap_mul(x_zero(), packed_[weights_.correction() + c]));
    if (window != nullptr) {
      const int32_t zero = packed_[weights_.zero() + c];
      for (int64_t e = 0; e < cols; ++e) row[e] = wrap_sub(row[e], wrap_mul(zero, window[e]));
    }
    if (g_.y != nullptr) {
      for (int64_t e = 0; e < cols; ++e) g_.y[at + e] = wrap_add(row[e], add);
      return;
    }
    make_bytes<Arch>(row, cols, add, g_.bytes.scale[c], g_.bytes, static_cast<uint8_t*>(g_.bytes.y) + at);
  }

  /// The zero point of the bytes in planes, where signed ones are raised by 128.
  int32_t x_zero() const { return g_.x_signed ? g_.x_zero + 128 : g_.x_zero; }

  const QuantConvArgs& g_;
  const WeightLayout<Ops, Arch>& weights_;
  const PlaneLayout<Arch>& l_;
  const int32_t* const packed_;
  const int64_t items_;    // groups of all images
  const bool plain_;       // whether tiles read the bytes of x
  const int64_t image_;    // cells of an item's planes, and those that the last vectors read past them
  const int64_t at_once_;  // items
  const int64_t panels_;   // of a group
  const bool shallow_;     // whether the cells of several tiles stay in the first-level cache
  const int64_t width_;    // outputs of a task
  const int64_t outputs_;  // of a channel
  Scratch scratch_;
  int64_t* const offset_;  // of each cell of a panel's rows in the planes
  int32_t* const images_;
};

template <class Ops, class Arch>
void run_conv(const QuantConvArgs& g, const int32_t* packed) {
  const WeightLayout<Ops, Arch> weights(g.geometry);
  const PlaneLayout<Arch> planes(g.geometry);
  if (planes.fits()) PlaneConv<Ops, Arch>(g, weights, planes, packed).run();
  else SparseConv<Ops, Arch>(g, weights, planes.w, packed).run();
}

}  // namespace tenon::TENON_ABI::kernels::quant_conv_detail

namespace tenon::TENON_ABI::kernels {

template <class Arch>
int64_t quant_conv_packed_weight_size_impl(const QuantConvArgs& g) {
  using namespace quant_conv_detail;
  if (sums_in_floats<Arch>(g.geometry)) return float_weights<Arch>(g.geometry);
  const ConstantForm form = weight_form<Arch>(g);
  int64_t size = 0;
  with_form<Arch, true>(form.form, [&]<class Ops>(Ops) {
    size = WeightLayout<Ops, Arch>(g.geometry).size_with_excess(form.places);
  });
  return size;
}

template <class Arch>
void quant_conv_pack_weights_impl(const QuantConvArgs& g, int32_t* packed) {
  using namespace quant_conv_detail;
  if (sums_in_floats<Arch>(g.geometry)) return pack_float_weights<Arch>(g.geometry, weight_rows(g), packed);
  const ConstantForm form = weight_form<Arch>(g);
  with_form<Arch, true>(form.form, [&]<class Ops>(Ops) { pack_weights<Ops, Arch>(g, form, packed); });
}

template <class Arch>
void quant_conv_impl(const QuantConvArgs& g) {
  using namespace quant_conv_detail;
  const ConvGeometry& s = g.geometry;
  if (s.batch <= 0 || s.out_channels <= 0) return;
  for (int d = 0; d < s.rank; ++d)
    if (s.out[d] <= 0) return;
  Scratch scratch;
  const int32_t* packed = g.packed_w;
  if (packed == nullptr) {
    int32_t* own = scratch.take<int32_t>(quant_conv_packed_weight_size_impl<Arch>(g));
    quant_conv_pack_weights_impl<Arch>(g, own);
    packed = own;
  }
  if (sums_in_floats<Arch>(s)) return run_in_floats<Arch>(g, reinterpret_cast<const float*>(packed));
  with_form<Arch, true>(static_cast<ByteForm>(packed[0]),
                        [&]<class Ops>(Ops) { run_conv<Ops, Arch>(g, packed); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

template void quant_conv_impl<TENON_INSTANTIATE>(const QuantConvArgs&);
template int64_t quant_conv_packed_weight_size_impl<TENON_INSTANTIATE>(const QuantConvArgs&);
template void quant_conv_pack_weights_impl<TENON_INSTANTIATE>(const QuantConvArgs&, int32_t*);

}  // namespace tenon::TENON_ABI::kernels
#endif
