// Convolutions of 8-bit integers: bodies.
//
// The input is copied once, with its padding, as planes of cells: two or four neighbouring channels of one
// place (gemm/bytes.hpp). An axis with a stride is split into phases, so that neighbouring outputs see
// neighbouring cells through every kernel place. Outputs are computed along the whole plane, over the ends of
// its rows: all loads are plain vectors, and what the ends give is left out when results are stored.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/quant_conv.hpp"
#include "tenon/kernels/conv/quant_conv_bytes.hpp"
#include "tenon/kernels/conv/quant_conv_depthwise.hpp"
#include "tenon/kernels/conv/quant_conv_planes.hpp"
#include "tenon/kernels/gemm/bytes.hpp"

namespace tenon::kernels::quant_conv_detail {

using gemm_detail::ByteForm;
using gemm_detail::ByteRows;
using gemm_detail::Tile;
using gemm_detail::with_form;
using gemm_detail::wrap_add;
using gemm_detail::wrap_mul;
using gemm_detail::wrap_sub;

// ------------------------------------------------------------------------------------------------- weights

/// Extents of the packed weights. Cell (cell of channels, kernel place) of output channel m of a group stands
/// in panel m / rows.
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
  int64_t group_size() const { return (m + rows - 1) / rows * rows * depth; }
  // Places: the header (form; whether a zero point is not 0), for each output channel the sum of its weights
  // less their number times the zero point, and the zero point; one panel whose first row is ones; the
  // panels of the groups.
  int64_t correction() const { return header; }
  int64_t zero() const { return header + line(); }
  int64_t ones() const { return header + 2 * line(); }
  int64_t panels() const { return ones() + rows * depth; }
  int64_t size() const { return panels() + groups * group_size(); }
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

/// Whether neighbouring channels' weights pass ByteRows::fits_16 at every kernel place.
template <class Arch>
bool channels_fit_16(const ByteRows& w, int64_t channels) {
  const int64_t kernel = channels == 0 ? 0 : w.k / channels;
  // One output channel after another: rows are kernel places.
  ByteRows one = w;
  one.step = 1, one.k_step = kernel, one.count = kernel, one.k = channels;
  for (int64_t m = 0; m < w.count; ++m, one.data += w.step)
    if (!one.fits_16()) return false;
  return true;
}

template <class Arch>
ByteForm weight_form(const QuantConvArgs& g) {
  if (simd::has_dot_bytes<Arch>()) return ByteForm::quads;
  const int64_t channels = g.geometry.in_channels / g.geometry.groups;
  return simd::has_dot_bytes_16<Arch> && channels_fit_16<Arch>(weight_rows(g), channels) ? ByteForm::quads_16
                                                                                         : ByteForm::pairs;
}

/// Packs the weights of output channel `c`, row r of the panel `to`, and gives their sum, of numbers less the
/// zero point where cells are pairs.
template <class Ops, class Arch>
int32_t pack_row(const WeightLayout<Ops, Arch>& l, const ByteRows& w, int64_t c, int64_t r, int32_t* to) {
  constexpr int bits = 32 / Ops::per_cell;
  const int32_t shift_of_bytes = Ops::per_cell == 4 ? 128 : w.zero_of(c);
  const uint8_t* from = w.data + c * w.k;
  uint32_t sum = 0;
  for (int64_t k = 0; k < l.channels; ++k) {
    int32_t* cell = to + k / Ops::per_cell * l.kernel * l.rows + r;
    const int shift = static_cast<int>(k % Ops::per_cell) * bits;
    for (int64_t t = 0; t < l.kernel; ++t) {
      const int32_t u = w.is_signed ? *from++ ^ 128 : *from++;
      const auto number = static_cast<uint32_t>(u - shift_of_bytes);
      sum += number;
      cell[t * l.rows] |= static_cast<int32_t>((number & ((1u << bits) - 1)) << shift);
    }
  }
  return static_cast<int32_t>(sum);
}

template <class Ops, class Arch>
void pack_weights(const QuantConvArgs& g, ByteForm form, int32_t* packed) {
  const WeightLayout<Ops, Arch> l(g.geometry);
  const ByteRows w = weight_rows(g);
  const bool quads = Ops::per_cell == 4;
  constexpr int rows = l.rows, bits = 32 / Ops::per_cell;
  std::fill_n(packed, l.panels(), 0);
  packed[0] = static_cast<int32_t>(form);
  for (int64_t c = 0; c < l.channels; ++c)
    for (int64_t t = 0; t < l.kernel; ++t)
      packed[l.ones() + (c / Ops::per_cell * l.kernel + t) * rows] |= 1 << (c % Ops::per_cell * bits);
  const int64_t panels = (l.m + rows - 1) / rows;
  const int64_t grain = std::max<int64_t>((int64_t{1} << 15) / std::max<int64_t>(rows * w.k, 1), 1);
  parallel_for(l.groups * panels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel % panels * rows, at = panel / panels * l.m + first;
      int32_t* to = packed + l.panels() + panel * rows * l.depth;
      std::fill_n(to, rows * l.depth, 0);
      for (int64_t r = 0; r < std::min<int64_t>(rows, l.m - first); ++r) {
        const int64_t c = at + r;
        const int32_t sum = pack_row(l, w, c, r, to), zero = w.zero_of(c) - 128;
        packed[l.zero() + c] = quads ? zero : 0;
        packed[l.correction() + c] = quads ? wrap_sub(sum, wrap_mul(static_cast<int32_t>(w.k), zero)) : 0;
      }
    }
  });
  for (int64_t c = 0; c < l.groups * l.m; ++c) packed[1] |= packed[l.zero() + c] != 0;
}

// --------------------------------------------------------------------------------------------------- tiles

/// Sums of R rows, NV vectors: cells of a panel of weights times the planes' cells from b + offset[p] on.
template <class Ops, class Arch, int R, int NV>
void sum_tile(int64_t depth, const int32_t* a, const int32_t* b, const int64_t* offset, int32_t* sums) {
  using V = simd::batch<int32_t, Arch>;
  constexpr int L = simd::lanes<int32_t, Arch>;
  V sum[R][NV];
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) sum[r][v] = V(0);
  for (int64_t p = 0; p < depth; ++p) {
    const int32_t* from = b + offset[p];
    V bv[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) bv[v] = simd::loadu<Arch>(from + v * L);
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) {
      const V av(a[r]);
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) sum[r][v] = Ops::add_product(av, bv[v], sum[r][v]);
    }
    a += Tile<Ops, Arch>::rows;
  }
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) simd::storeu(sums + r * Tile<Ops, Arch>::cols + v * L, sum[r][v]);
}

using SumTile = void (*)(int64_t, const int32_t*, const int32_t*, const int64_t*, int32_t*);

template <class Ops, class Arch>
inline constexpr auto sum_tiles = []<int... I>(std::integer_sequence<int, I...>) {
  constexpr int vectors = Tile<Ops, Arch>::vectors;
  return std::array<SumTile, sizeof...(I)>{
      &sum_tile<Ops, Arch, std::max(I / vectors * 2, 1), I % vectors + 1>...};
}(std::make_integer_sequence<int, (Tile<Ops, Arch>::rows / 2 + 1) * Tile<Ops, Arch>::vectors>{});

template <class Ops, class Arch>
SumTile sum_tile_for(int64_t rows, int64_t vectors) {
  const int64_t size = rows == 1 ? 0 : (rows + 1) / 2;
  return sum_tiles<Ops, Arch>[static_cast<std::size_t>(size * Tile<Ops, Arch>::vectors + vectors - 1)];
}

/// A run of neighbouring outputs among a tile's columns.
struct Run {
  int64_t column, to, count;
};

/// The outputs among each tile's columns: runs[first[t]] to runs[first[t + 1]] of tile t.
template <class Arch>
struct RunTable {
  int64_t* first;
  Run* runs;

  RunTable(Scratch& scratch, const PlaneLayout<Arch>& l, int64_t cols) {
    const int inner = l.w.rank - 1;
    const int64_t span = l.span(), tiles = (span + cols - 1) / cols, out = l.w.axis[inner].out;
    const int64_t rows = l.w.out_cells() / out;
    first = scratch.take<int64_t>(tiles + 1);
    runs = scratch.take<Run>(rows + tiles);
    int64_t count = 0, tile = 0, at[max_spatial] = {};
    first[0] = 0;
    for (int64_t r = 0; r < rows; ++r) {
      int64_t place = 0;
      for (int d = 0; d < inner; ++d) place += at[d] * l.axis[d].pitch;
      for (int64_t o = 0; o < out;) {
        while (tile < (place + o) / cols) first[++tile] = count;
        const int64_t most = std::min(out - o, (tile + 1) * cols - (place + o));
        runs[count++] = {place + o - tile * cols, r * out + o, most};
        o += most;
      }
      step<Arch>(inner, at, [&](int d) { return l.w.axis[d].out; });
    }
    while (tile < tiles) first[++tile] = count;
  }
};

/// Copies the outputs among a tile's columns to their plane.
template <class Arch, class T>
void store_runs(const Run* run, const Run* end, const T* columns, T* plane) {
  for (; run < end; ++run) std::copy_n(columns + run->column, run->count, plane + run->to);
}

/// For planes that would be much larger than input and output: every output by itself.
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
          const int32_t value[lanes] = {sum(plane / g_.geometry.out_channels, c, o)};
          if (g_.y != nullptr) {
            g_.y[plane * out + e] = value[0];
          } else {
            uint8_t byte[lanes];
            make_bytes<Arch, lanes>(value, 0, g_.bytes.scale[c], g_.bytes, byte);
            static_cast<uint8_t*>(g_.bytes.y)[plane * out + e] = byte[0];
          }
          step<Arch>(w_.rank, o, [&](int d) { return w_.axis[d].out; });
        }
      }
    });
  }

 private:
  /// The sum of output channel c at the place `o`.
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
    const auto cell = static_cast<uint32_t>(row[(k / Ops::per_cell * l_.kernel + t) * l_.rows]);
    return static_cast<int32_t>(cell << (32 - bits - k % Ops::per_cell * bits)) >> (32 - bits);
  }

  const QuantConvArgs& g_;
  const WeightLayout<Ops, Arch>& l_;
  const SlidingWindow<Arch>& w_;
  const int32_t* const packed_;
};

/// Outputs along whole planes: a tile is a panel of output channels times the columns of a few vectors.
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
        image_(weights.cells * l.cells() + S::cols),
        at_once_(std::clamp<int64_t>((int64_t{8} << 20) / image_, 1, items_)),
        panels_((weights.m + S::rows - 1) / S::rows),
        table_(scratch_, l, S::cols),
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
      fill(first, count);
      compute(first, count);
    }
  }

 private:
  using S = Tile<Ops, Arch>;
  static constexpr int64_t panels_at_once = 64 / S::rows;  // whose weights stay in the second-level cache

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

  /// Computes the outputs of these items: tasks are columns times panels that share them.
  void compute(int64_t first, int64_t count) const {
    const int64_t columns = (l_.span() + S::cols - 1) / S::cols;
    const int64_t blocks = (panels_ + panels_at_once - 1) / panels_at_once;
    const int64_t work =
        S::cols * std::min(weights_.m, panels_at_once * S::rows) * weights_.depth * Ops::per_cell;
    parallel_for(count * blocks * columns,
                 std::max<int64_t>((int64_t{1} << 20) / std::max<int64_t>(work, 1), 1),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t t = begin; t < end; ++t)
                     compute_columns(first, t / (blocks * columns), t / columns % blocks * panels_at_once,
                                     t % columns);
                 });
  }

  /// The tiles of panels from `panel` on, for item first + image.
  void compute_columns(int64_t first, int64_t image, int64_t panel, int64_t column) const {
    constexpr int lanes = simd::lanes<int32_t, Arch>;
    alignas(64) int32_t sums[S::rows * S::cols], window[S::cols];
    const Run *run = table_.runs + table_.first[column], *end = table_.runs + table_.first[column + 1];
    if (run == end) return;
    const int64_t item = first + image, group = item % g_.geometry.groups, j = column * S::cols;
    const int64_t vectors = (std::min<int64_t>(S::cols, l_.span() - j) + lanes - 1) / lanes;
    const int32_t* const b = images_ + image * image_ + j;
    const bool with_zero = packed_[1] != 0;
    if (with_zero)
      sum_tile_for<Ops, Arch>(1, vectors)(weights_.depth, packed_ + weights_.ones(), b, offset_, window);
    for (const int64_t end_panel = std::min(panel + panels_at_once, panels_); panel < end_panel; ++panel) {
      const int64_t m = panel * S::rows, rows = std::min<int64_t>(S::rows, weights_.m - m);
      const int32_t* a = packed_ + weights_.panels() + group * weights_.group_size() + m * weights_.depth;
      sum_tile_for<Ops, Arch>(rows, vectors)(weights_.depth, a, b, offset_, sums);
      for (int64_t r = 0; r < rows; ++r)
        finish_row(item / g_.geometry.groups, group * weights_.m + m + r, run, end,
                   with_zero ? window : nullptr, sums + r * S::cols);
    }
  }

  /// Makes results of a row of sums, of output channel c, and stores its runs. The sums of the window, where
  /// given, are of numbers that meet the zero points of weights.
  void finish_row(int64_t image, int64_t c, const Run* run, const Run* end, const int32_t* window,
                  int32_t* row) const {
    const int64_t plane = (image * g_.geometry.out_channels + c) * l_.w.out_cells();
    int32_t add = g_.bias != nullptr ? g_.bias[c] : 0;
    if (Ops::per_cell == 4) add = wrap_sub(add, wrap_mul(x_zero(), packed_[weights_.correction() + c]));
    if (window != nullptr) {
      const int32_t zero = packed_[weights_.zero() + c];
      for (int e = 0; e < S::cols; ++e) row[e] = wrap_sub(row[e], wrap_mul(zero, window[e]));
    }
    if (g_.y != nullptr) {
      for (int e = 0; e < S::cols; ++e) row[e] = wrap_add(row[e], add);
      return store_runs<Arch>(run, end, row, g_.y + plane);
    }
    auto* const to = static_cast<uint8_t*>(g_.bytes.y) + plane;
    const auto make = [&](uint8_t* y) {
      make_bytes<Arch, S::cols>(row, add, g_.bytes.scale[c], g_.bytes, y);
    };
    if (run->count == S::cols) return make(to + run->to);
    alignas(64) uint8_t bytes[S::cols];
    make(bytes);
    store_runs<Arch, uint8_t>(run, end, bytes, to);
  }

  /// The zero point of the bytes in planes, of which signed ones are raised.
  int32_t x_zero() const { return g_.x_signed ? g_.x_zero + 128 : g_.x_zero; }

  const QuantConvArgs& g_;
  const WeightLayout<Ops, Arch>& weights_;
  const PlaneLayout<Arch>& l_;
  const int32_t* const packed_;
  const int64_t items_;    // groups of all images
  const int64_t image_;    // cells of an item's planes, and as many as the last vectors read past them
  const int64_t at_once_;  // items
  const int64_t panels_;   // of a group
  Scratch scratch_;
  const RunTable<Arch> table_;
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

}  // namespace tenon::kernels::quant_conv_detail

namespace tenon::kernels {

template <class Arch>
int64_t quant_conv_packed_weight_size_impl(const QuantConvArgs& g) {
  using namespace quant_conv_detail;
  if (sums_in_floats<Arch>(g.geometry)) return float_weights<Arch>(g.geometry);
  int64_t size = 0;
  with_form<Arch, true>(weight_form<Arch>(g),
                        [&]<class Ops>(Ops) { size = WeightLayout<Ops, Arch>(g.geometry).size(); });
  return size;
}

template <class Arch>
void quant_conv_pack_weights_impl(const QuantConvArgs& g, int32_t* packed) {
  using namespace quant_conv_detail;
  if (sums_in_floats<Arch>(g.geometry)) return pack_float_weights<Arch>(g.geometry, weight_rows(g), packed);
  const ByteForm form = weight_form<Arch>(g);
  with_form<Arch, true>(form, [&]<class Ops>(Ops) { pack_weights<Ops, Arch>(g, form, packed); });
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

}  // namespace tenon::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::kernels {

template void quant_conv_impl<TENON_INSTANTIATE>(const QuantConvArgs&);
template int64_t quant_conv_packed_weight_size_impl<TENON_INSTANTIATE>(const QuantConvArgs&);
template void quant_conv_pack_weights_impl<TENON_INSTANTIATE>(const QuantConvArgs&, int32_t*);

}  // namespace tenon::kernels
#endif
