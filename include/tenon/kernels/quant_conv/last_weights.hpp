// Convolutions of bytes over tensors of (N, H, W, C): the packed weights.
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
#include "tenon/kernels/quant_conv/last_args.hpp"
#include "tenon/simd/batch.hpp"
#include "tenon/simd/tiles.hpp"

namespace tenon::TENON_ABI::kernels::conv_last_detail {

// Words of x and of w (gemm/bytes.hpp): bytes, bytes where two neighbouring products fit into 16 bits, and
// 16-bit integers.
using gemm_detail::ByteForm;
using gemm_detail::ConstantForm;
using gemm_detail::Excess;
using gemm_detail::ExcessLists;
using Quads = gemm_detail::Quad<false, true>;
using SafeQuads = gemm_detail::Quad<false, false>;
using gemm_detail::Pair;

/// The register tile: of 32 registers 24 sums, 4 vectors of weights and 1 word; of 16, 12 sums, 2 vectors and
/// 1 word. Levels without instructions for this product do not need large tiles.
template <class Arch>
struct Tile {
  static constexpr int vectors = Arch::registers == 32 ? 4 : 2, cols = vectors * simd::lanes<int32_t, Arch>;
  static constexpr int rows = simd::has_dot_bytes_16<Arch> ? 6 : 1;
};

template <class Arch>
constexpr int64_t whole_vectors(int64_t channels) {
  constexpr int64_t lanes = simd::lanes<int32_t, Arch>;
  return (channels + lanes - 1) / lanes * lanes;
}

/// The extents of a product in tile registers: pixels and channels.
inline constexpr int64_t tile_pixels = 2 * simd::tile_rows, tile_channels = 2 * simd::tile_rows;

/// Extents of the packed weights: initial sums for output channels up to whole vectors, then panels of `cols`
/// output channels, each with `words` words per tap and channel, and lists of excess, if any. Panels for tile
/// registers (gemm/byte_tiles.hpp) are as wide as two registers, and end with words of zeros up to whole
/// registers.
template <class Arch>
struct Layout {
  int64_t taps, words, channels, cols, step, depth;

  Layout(const ConvGeometry& g, bool plain, bool tiles, int per_word = 4)
      : taps(g.kernel[0] * (plain ? 1 : g.kernel[1])),
        words((g.in_channels * (plain ? g.kernel[1] : 1) + 3) / 4 * (4 / per_word)),
        channels(g.out_channels),
        cols(tiles ? tile_channels : Tile<Arch>::cols),
        step(tiles ? simd::tile_rows : 1),
        depth((taps * words + step - 1) / step * step) {}
  int64_t panels() const { return (channels + cols - 1) / cols; }
  int64_t panel() const { return depth * cols; }
  int64_t starts() const { return whole_vectors<Arch>(channels); }
  int64_t size() const { return starts() + panels() * panel(); }
  /// One of each tap of a panel.
  int64_t lists() const { return panels() * taps; }
  int64_t size_with_excess(int64_t places) const {
    return size() + (places > 0 ? ExcessLists::size(lists(), places, cols) : 0);
  }
};

/// The weights at all taps of as many output channels as a register has words, `each` bytes of w apart. The
/// channels are whole words.
template <class Arch>
void pack_strip(const Layout<Arch>& l, int64_t cells, const int8_t* w, int64_t each, const int8_t* end,
                int32_t* packed) {
  constexpr int L = simd::lanes<int32_t, Arch>, side = 16;
  const auto* const from = reinterpret_cast<const uint8_t*>(w);
  auto* const to = reinterpret_cast<uint32_t*>(packed);
  const int64_t tap = l.words * l.cols;
  int64_t q = 0;
  if (cells == 1) {
    for (; q + 4 <= l.words; q += 4)
      for (int r = 0; r < L; r += 4)
        simd::transpose_words<Arch>(from + r * each + 4 * q, each, to + q * l.cols + r, l.cols);
  }
  for (; q < l.words; ++q)
    for (int64_t t = 0; t < cells; t += side) {
      const int64_t count = std::min<int64_t>(side, cells - t);
      uint32_t words[L * side];
      for (int r = 0; r < L; ++r) {
        const uint8_t* row[4];
        uint8_t last[4][side];
        for (int k = 0; k < 4; ++k) {
          row[k] = from + r * each + (4 * q + k) * cells + t;
          if (reinterpret_cast<const uint8_t*>(end) - row[k] >= side) continue;
          std::memcpy(last[k], row[k], static_cast<std::size_t>(count));
          row[k] = last[k];
        }
        simd::interleave_bytes<Arch>(row[0], row[1], row[2], row[3], words + r * side);
      }
      simd::turn<Arch>(static_cast<const uint32_t*>(words), side, L, count, to + t * tap + q * l.cols, tap);
    }
}

/// Packs the words of bytes of a panel of weights w, up to l.panel().
template <class Arch>
void pack_panel(const Layout<Arch>& l, const ConvGeometry& g, bool plain_x, const int8_t* w, int64_t panel,
                int32_t* to) {
  const int64_t cells = g.kernel[0] * g.kernel[1], each = g.in_channels * cells;
  const int64_t first = panel * l.cols, count = std::min(l.cols, g.out_channels - first);
  const int8_t *const end = w + g.out_channels * each, *from = w + first * each;
  if (plain_x || count < l.cols || l.depth > l.taps * l.words) std::fill_n(to, l.panel(), 0);
  if (!plain_x) {
    constexpr int64_t lanes = simd::lanes<int32_t, Arch>;
    int64_t m = 0;
    for (; m + lanes <= count; m += lanes) pack_strip(l, cells, from + m * each, each, end, to + m);
    if (m == count) return;
    Scratch scratch;
    auto* const rest = scratch.take<int8_t>(lanes * each);
    std::fill(std::copy_n(from + m * each, (count - m) * each, rest), rest + lanes * each, int8_t{0});
    pack_strip(l, cells, rest, each, rest + lanes * each, to + m);
    return;
  }
  // Rows of a plain image's kernel hold the channels of all their taps, four after four.
  auto* const bytes = reinterpret_cast<int8_t*>(to);
  for (int64_t m = 0; m < count; ++m)
    for (int64_t c = 0; c < g.in_channels; ++c)
      for (int64_t t = 0; t < cells; ++t) {
        const int64_t e = t % g.kernel[1] * g.in_channels + c;
        bytes[((t / g.kernel[1] * l.words + e / 4) * l.cols + m) * 4 + e % 4] = *from++;
      }
}

/// Counts the places, of a panel and a tap, where weights have an excess, stopping past `most`.
template <class Arch>
int64_t excess_places(const Layout<Arch>& l, const ConvGeometry& g, bool plain_x, const int8_t* w,
                      int64_t most) {
  std::atomic<int64_t> places{0};
  parallel_for(l.panels(), 1, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    auto* const words = scratch.take<int32_t>(l.panel());
    for (int64_t panel = begin; panel < end && places.load(std::memory_order_relaxed) <= most; ++panel) {
      pack_panel(l, g, plain_x, w, panel, words);
      places.fetch_add(gemm_detail::count_excess<Tile<Arch>::cols>(words, l.depth),
                       std::memory_order_relaxed);
    }
  });
  return places.load();
}

/// The form of a convolution's words at the level in force, and the places of its weights' excess.
template <class Arch>
ConstantForm form_of(const ConvGeometry& g, bool plain_x, const int8_t* w) {
  if (!simd::has_dot_bytes<Arch>()) {
    if (is_depthwise_last(g)) return {ByteForm::pairs};
    if (simd::has_tiles<Arch>()) return {ByteForm::quads};
  }
  const Layout<Arch> l(g, plain_x, false);
  return gemm_detail::constant_form<Arch>(
      l.lists(), l.words, [&](int64_t most) { return excess_places(l, g, plain_x, w, most); });
}

/// A zero point of x as products by Words see it.
template <class Words, class Arch>
constexpr int32_t seen_zero(int32_t x_zero) {
  return x_zero - gemm_detail::lowers<Words, Arch>;
}

/// Cells preceding packed weights: the form, the lists of excess, if any, and room, so that weights stay
/// aligned.
inline constexpr int64_t form_cells = 16;

/// to[i] and to[cols + i] = the first two and the last two bytes of from[i] as 16-bit integers.
inline void split_words(const int32_t* from, int64_t cols, int32_t* to) {
  for (int64_t i = 0; i < cols; ++i) {
    const auto word = static_cast<uint32_t>(from[i]);
    const auto byte = [&](int left) {
      return static_cast<uint32_t>(static_cast<int32_t>(word << left) >> 24);
    };
    to[i] = static_cast<int32_t>((byte(24) & 0xffff) | byte(16) << 16);
    to[cols + i] = static_cast<int32_t>((byte(8) & 0xffff) | byte(0) << 16);
  }
}

/// Subtracts the excess of packed weights, and lists it.
template <class Arch>
void take_excess(const Layout<Arch>& l, int32_t* packed) {
  const ExcessLists lists{packed + l.size(), l.lists()};
  std::fill_n(lists.begin, lists.lists + 1, 0);
  const auto each = [&](const auto& f) {
    parallel_for(lists.lists, std::max<int64_t>(task_work::bytes / (l.words * l.cols), 1),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t list = begin; list < end; ++list)
                     f(list, packed + l.starts() + list * l.words * l.cols);
                 });
  };
  constexpr int cols = Tile<Arch>::cols;
  each([&](int64_t list, const int32_t* words) { lists.template count<cols>(list, words, l.words); });
  lists.sum_up();
  each([&](int64_t list, int32_t* words) { lists.template take<cols>(list, words); });
}

/// See quant_conv_last_pack. `l` describes words of bytes.
template <class Words, class Arch>
void pack_weights(const Layout<Arch>& l, const ConvGeometry& g, bool plain_x, const int8_t* w,
                  const int32_t* bias, int32_t x_zero, int32_t* packed) {
  constexpr int64_t split = 4 / Words::per_cell;
  const int64_t each = g.in_channels * g.kernel[0] * g.kernel[1];
  const int32_t seen = l.step > 1 ? x_zero : seen_zero<Words, Arch>(x_zero);  // tile registers lower nothing
  std::fill(packed + l.channels, packed + l.starts(), 0);
  parallel_for(l.panels(), 1, [&](int64_t begin_panel, int64_t end_panel) {
    Scratch scratch;
    auto* const bytes = split == 1 ? nullptr : scratch.take<int32_t>(l.panel());
    for (int64_t panel = begin_panel; panel < end_panel; ++panel) {
      for (int64_t m = panel * l.cols; m < std::min((panel + 1) * l.cols, g.out_channels); ++m) {
        uint32_t sum = 0;
        for (const int8_t* k = w + m * each; k < w + (m + 1) * each; ++k) sum += static_cast<uint32_t>(*k);
        packed[m] = gemm_detail::wrap_sub(bias != nullptr ? bias[m] : 0,
                                          gemm_detail::wrap_mul(seen, static_cast<int32_t>(sum)));
      }
      int32_t* const to = packed + l.starts() + panel * l.panel() * split;
      pack_panel(l, g, plain_x, w, panel, split == 1 ? to : bytes);
      for (int64_t i = 0; split > 1 && i < l.depth; ++i)
        split_words(bytes + i * l.cols, l.cols, to + split * i * l.cols);
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels::conv_last_detail
