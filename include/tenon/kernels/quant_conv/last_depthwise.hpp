// Depthwise convolutions of bytes over tensors of (N, H, W, C).
//
// As many neighbouring channels as a register has bytes form a panel. Numbers of four or two neighbouring
// kernel rows are combined into words, which one instruction multiplies and sums. The words of a column of
// the image serve all the pixels of a tile that see it. With registers of 64 bytes, a last panel of up to 32
// channels is computed for two tiles at once, one in each half.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/gemm/bytes.hpp"
#include "tenon/kernels/quant_conv/last_weights.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels::conv_last_detail {

/// Packed weights: panels of initial sums, then of words for each group of kernel rows and each column. Both
/// halves of a half panel are equal. Without half panels, the last panel repeats channels of the previous
/// one, so that it is whole.
template <class Words, class Arch>
struct DepthwiseLayout {
  static constexpr int64_t cols = Arch::register_bytes;
  static constexpr bool has_halves = cols == 64;
  static constexpr int64_t per_word = Words::per_cell;
  int64_t channels, groups, wide;  ///< groups of rows, and columns

  explicit DepthwiseLayout(const ConvGeometry& g)
      : channels(g.out_channels), groups((g.kernel[0] + per_word - 1) / per_word), wide(g.kernel[1]) {}
  int64_t panels() const { return (channels + cols - 1) / cols; }
  int64_t panel() const { return (1 + groups * wide) * cols; }
  int64_t size() const { return panels() * panel(); }
  int64_t first(int64_t panel) const {
    return has_halves ? panel * cols : std::max<int64_t>(std::min(panel * cols, channels - cols), 0);
  }
  bool is_half(int64_t panel) const { return has_halves && channels - panel * cols <= cols / 2; }
  /// The word of a panel's channel, in the order of simd::interleave_quarters.
  static int64_t place(int64_t channel) {
    return channel / 4 % 4 * (cols / 4) + channel / 16 * 4 + channel % 4;
  }
  /// Words from a channel of a half panel to the same channel in the other half.
  static constexpr int64_t other_half = 8;
};

template <class Words, class Arch>
void pack_depthwise(const ConvGeometry& g, const int8_t* w, const int32_t* bias, int32_t x_zero,
                    int32_t* packed) {
  using Number = std::conditional_t<Words::per_cell == 4, int8_t, int16_t>;
  const DepthwiseLayout<Words, Arch> l(g);
  std::fill_n(packed, l.size(), 0);
  for (int64_t panel = 0; panel < l.panels(); ++panel) {
    const int64_t first = l.first(panel), last = std::min(first + l.cols, l.channels);
    const int8_t* from = w + first * g.kernel[0] * l.wide;
    for (int64_t c = first; c < last; ++c) {
      int32_t* const to = packed + panel * l.panel() + l.place(c - first);
      int32_t sum = 0;
      for (int64_t i = 0; i < g.kernel[0]; ++i)
        for (int64_t j = 0; j < l.wide; ++j, ++from) {
          sum += *from;
          auto* const word = reinterpret_cast<Number*>(to + (1 + i / l.per_word * l.wide + j) * l.cols);
          word[i % l.per_word] = *from;
        }
      *to = gemm_detail::wrap_sub(bias != nullptr ? bias[c] : 0,
                                  gemm_detail::wrap_mul(seen_zero<Words, Arch>(x_zero), sum));
      for (int64_t i = 0; l.is_half(panel) && i < l.panel(); i += l.cols) to[i + l.other_half] = to[i];
    }
  }
}

/// Neighbouring pixels of a row, or two such runs if the panel is a half, and a panel of their channels.
struct DepthwiseTile {
  struct Pixels {
    const uint8_t* const* rows;  ///< of the image, as many as a word holds, from the first column on
    int64_t step;                ///< from one column of a pixel to the next
    uint8_t* y;
  };
  Pixels pixels[2];
  const int32_t* w;    ///< the panel
  const float* scale;  ///< in the order of the panel
  int64_t channels;    ///< of the panel
};

/// R pixels, or twice as many, with stride S and a kernel of K rows and columns; K = 0: any size.
template <class Words, class Arch, int R, int S, int K, bool two>
void depthwise_tile(const QuantConvLastArgs& g, const DepthwiseLayout<Words, Arch>& l,
                    const DepthwiseTile& t) {
  using I = simd::batch<int32_t, Arch>;
  using F = simd::batch<float, Arch>;
  using B = simd::batch<uint8_t, Arch>;
  // Of 32 registers, 16 hold sums, 12 weights and 4 words; with 16 registers, half of the channels are
  // computed at a time.
  constexpr int L = simd::lanes<int32_t, Arch>, passes = Arch::registers == 32 ? 1 : 2, V = 4 / passes;
  const auto &first = t.pixels[0], &second = t.pixels[two];
  I sum[R][4];
  constexpr int per_word = Words::per_cell;
  // Adds the first `count` rows of a group; weights of the others are 0.
  const auto add_group = [&]<int count, int pass>(std::integral_constant<int, count>,
                                                  std::integral_constant<int, pass>, int64_t group) {
    const int32_t* const w = t.w + (1 + group * l.wide) * l.cols + pass * V * L;
    const auto words_of = [&](int64_t c, I* words) {
      B row[per_word];
#pragma GCC unroll 4
      for (int i = 0; i < per_word; ++i) {
        const uint8_t* const from = first.rows[per_word * group + i] + c * first.step;
        if (i >= count) row[i] = B(uint8_t{0});
        else if constexpr (two)
          row[i] = simd::load_halves_n<Arch>(from, second.rows[per_word * group + i] + c * second.step,
                                             t.channels);
        else if constexpr (simd::masks_are_free<Arch>) row[i] = simd::load_n<Arch>(from, t.channels);
        else row[i] = simd::loadu<Arch>(from);
      }
      if constexpr (pass == 0) simd::interleave_quarters<false>(row, words);
      if constexpr (pass == passes - 1) simd::interleave_quarters<true>(row, words + V - 2);
    };
    const auto add = [&](const I* words, int r, int64_t c) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        I& to = sum[r][pass * V + v];
        to = Words::add_product(words[v], I(simd::loadu<Arch>(w + c * l.cols + v * L)), to);
      }
    };
    if constexpr (K == 0) {
      for (int64_t c = 0; c < l.wide; ++c) {
        I words[V];
        words_of(c, words);
        add(words, 0, c);
      }
    } else {
#pragma GCC unroll 16
      for (int c = 0; c < (R - 1) * S + K; ++c) {
        I words[V];
        words_of(c, words);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r)
          if (c >= r * S && c < r * S + K) add(words, r, c - r * S);
      }
    }
  };
  const auto add_all = [&]<int pass>(std::integral_constant<int, pass> which) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = pass * V; v < (pass + 1) * V; ++v) sum[r][v] = simd::loadu<Arch>(t.w + v * L);
    const int64_t whole = K == 0 ? l.groups : K / per_word;
    for (int64_t i = 0; i < whole; ++i) add_group(std::integral_constant<int, per_word>{}, which, i);
    if constexpr (K % per_word != 0) add_group(std::integral_constant<int, K % per_word>{}, which, whole);
  };
  add_all(std::integral_constant<int, 0>{});
  if constexpr (passes == 2) add_all(std::integral_constant<int, 1>{});
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    F q[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) q[v] = simd::to_float(sum[r][v]) * F(simd::loadu<Arch>(t.scale + v * L));
    simd::store_rounded_quarters_n<two>(first.y + r * l.channels, second.y + r * l.channels, q, g.zero, g.lo,
                                        g.hi, t.channels);
  }
}

/// The tiles of a geometry for whole panels and half panels, and the number of pixels in each.
template <class Words, class Arch>
struct DepthwiseTiles {
  using Function = void (*)(const QuantConvLastArgs&, const DepthwiseLayout<Words, Arch>&,
                            const DepthwiseTile&);
  int64_t pixels;
  Function whole, half = nullptr;
};

template <class Words, class Arch, int R, int S, int K>
constexpr DepthwiseTiles<Words, Arch> depthwise_tiles() {
  if constexpr (!DepthwiseLayout<Words, Arch>::has_halves)
    return {R, &depthwise_tile<Words, Arch, R, S, K, false>};
  else return {R, &depthwise_tile<Words, Arch, R, S, K, false>, &depthwise_tile<Words, Arch, R, S, K, true>};
}

template <class Words, class Arch>
DepthwiseTiles<Words, Arch> tiles_of(const ConvGeometry& g) {
  const int64_t k = g.kernel[0], stride = g.strides[1];
  if (g.out[1] < 4 || g.dilations[1] != 1 || g.kernel[1] != k || stride > 2 || (k != 3 && k != 5))
    return depthwise_tiles<Words, Arch, 1, 1, 0>();
  if (stride == 1)
    return k == 3 ? depthwise_tiles<Words, Arch, 4, 1, 3>() : depthwise_tiles<Words, Arch, 4, 1, 5>();
  return k == 3 ? depthwise_tiles<Words, Arch, 4, 2, 3>() : depthwise_tiles<Words, Arch, 4, 2, 5>();
}

/// One thread's part of a convolution.
template <class Words, class Arch>
class DepthwiseShare {
 public:
  DepthwiseShare(const QuantConvLastArgs& g, const DepthwiseLayout<Words, Arch>& l,
                 const DepthwiseTiles<Words, Arch>& tiles, const uint8_t* outside, const float* scales)
      : g_(g), s_(g.geometry), l_(l), tiles_(tiles), outside_(outside), scales_(scales) {
    rows_ = scratch_.take<const uint8_t*>(most_);
    for (Place& place : places_) {
      place.rows = scratch_.take<const uint8_t*>(most_);
      place.copy = scratch_.take<uint8_t>(s_.kernel[0] * columns_ * l.cols);
    }
  }

  /// Computes a row of results.
  void run(int64_t line) {
    const int64_t height = s_.in[0], width = s_.in[1], C = l_.channels;
    const uint8_t* const image = static_cast<const uint8_t*>(g_.x) + line / s_.out[0] * height * width * C;
    for (int64_t i = 0; i < most_; ++i) {
      // The weights of rows past the kernel are 0.
      const int64_t y =
          line % s_.out[0] * s_.strides[0] - s_.pads[0] + std::min(i, s_.kernel[0] - 1) * s_.dilations[0];
      rows_[i] = y >= 0 && y < height ? image + y * width * C : outside_;
    }
    uint8_t* const y = g_.y + line * s_.out[1] * C;
    for (int64_t panel = 0; panel < l_.panels(); ++panel) {
      const int64_t first = l_.first(panel), channels = std::min(C - first, l_.cols);
      const bool half = l_.is_half(panel);
      DepthwiseTile tile{{}, g_.packed_w + panel * l_.panel(), scales_ + panel * l_.cols, channels};
      const int64_t last = s_.out[1] - tiles_.pixels, step = tiles_.pixels << half;
      for (int64_t p = 0; p < s_.out[1]; p += step) {
        for (int k = 0; k <= half; ++k)
          tile.pixels[k] = see(places_[k], std::min(p + k * tiles_.pixels, last), first, channels, y);
        (half ? tiles_.half : tiles_.whole)(g_, l_, tile);
      }
    }
  }

 private:
  /// The rows from a tile's first column on, in the image or in a copy that includes the border and whole
  /// registers.
  struct Place {
    const uint8_t** rows;
    uint8_t* copy;
  };

  DepthwiseTile::Pixels see(const Place& place, int64_t pixel, int64_t first, int64_t channels, uint8_t* y) {
    const int64_t C = l_.channels, left = pixel * s_.strides[1] - s_.pads[1], dilation = s_.dilations[1];
    y += pixel * C + first;
    const bool readable = simd::masks_are_free<Arch> || channels == l_.cols;
    if (readable && left >= 0 && left + (columns_ - 1) * dilation < s_.in[1]) {
      for (int64_t i = 0; i < most_; ++i) place.rows[i] = rows_[i] + left * C + first;
      return {place.rows, dilation * C, y};
    }
    for (int64_t i = 0; i < most_; ++i) {
      uint8_t* const copy = place.copy + std::min(i, s_.kernel[0] - 1) * columns_ * l_.cols;
      place.rows[i] = copy;
      for (int64_t c = 0; c < columns_ && i < s_.kernel[0]; ++c) {
        const int64_t x = left + c * dilation;
        const bool inside = x >= 0 && x < s_.in[1];
        const auto bytes = inside ? simd::load_n<Arch>(rows_[i] + x * C + first, channels)
                                  : simd::batch<uint8_t, Arch>(static_cast<uint8_t>(g_.x_zero));
        simd::storeu(copy + c * l_.cols, bytes);
      }
    }
    return {place.rows, l_.cols, y};
  }

  const QuantConvLastArgs& g_;
  const ConvGeometry& s_;
  const DepthwiseLayout<Words, Arch>& l_;
  const DepthwiseTiles<Words, Arch>& tiles_;
  const uint8_t* const outside_;  // a row outside of the image
  const float* const scales_;     // in the order of the panels
  const int64_t most_ = l_.per_word * l_.groups, columns_ = (tiles_.pixels - 1) * s_.strides[1] + l_.wide;
  Scratch scratch_;
  const uint8_t** rows_;
  Place places_[2];
};

template <class Words, class Arch>
void conv_depthwise(const QuantConvLastArgs& g) {
  const ConvGeometry& s = g.geometry;
  const DepthwiseLayout<Words, Arch> l(s);
  const DepthwiseTiles<Words, Arch> tiles = tiles_of<Words, Arch>(s);
  const int64_t C = l.channels, row = s.in[1] * C;
  Scratch scratch;
  auto* const outside = scratch.take<uint8_t>(row);
  std::memset(outside, g.x_zero, static_cast<std::size_t>(row));
  auto* const scales = scratch.take<float>(l.panels() * l.cols);
  std::fill_n(scales, l.panels() * l.cols, 0.f);
  for (int64_t panel = 0; panel < l.panels(); ++panel)
    for (int64_t c = l.first(panel), last = std::min(c + l.cols, C); c < last; ++c) {
      float* const to = scales + panel * l.cols + l.place(c - l.first(panel));
      *to = g.scale[c];
      if (l.is_half(panel)) to[l.other_half] = g.scale[c];
    }
  const int64_t work = s.out[1] * l.panels() * (l.groups * l.wide + 4) * 256;
  parallel_for(s.batch * s.out[0], std::max<int64_t>(task_work::byte_products / 2 / work, 1),
               [&](int64_t begin, int64_t end) {
                 DepthwiseShare<Words, Arch> share(g, l, tiles, outside, scales);
                 for (int64_t line = begin; line < end; ++line) share.run(line);
               });
}

}  // namespace tenon::TENON_ABI::kernels::conv_last_detail
