// Convolutions of bytes over tensors of (N, H, W, C), each channel with a kernel of its own.
//
// 64 neighbouring channels are a panel. Bytes of four kernel rows meet in words, which an instruction
// multiplies and sums. The words of a column of the image serve all the pixels of a tile that see it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/quant_conv_last_args.hpp"
#include "tenon/kernels/gemm/bytes.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::kernels::conv_last_detail {

/// Packed weights: panels of sums to start from, then of words for each four kernel rows and each column.
struct DepthwiseLayout {
  static constexpr int64_t cols = 64;
  int64_t channels, quads, wide;

  explicit DepthwiseLayout(const ConvGeometry& g)
      : channels(g.out_channels), quads((g.kernel[0] + 3) / 4), wide(g.kernel[1]) {}
  int64_t panels() const { return (channels + cols - 1) / cols; }
  int64_t panel() const { return (1 + quads * wide) * cols; }
  int64_t size() const { return panels() * panel(); }
  /// The word of a panel's channel, in the order of simd::interleave_quarters.
  static int64_t place(int64_t channel) { return channel / 4 % 4 * 16 + channel / 16 * 4 + channel % 4; }
};

inline void pack_depthwise(const ConvGeometry& g, const int8_t* w, const int32_t* bias, int32_t x_zero,
                           int32_t* packed) {
  const DepthwiseLayout l(g);
  std::fill_n(packed, l.size(), 0);
  for (int64_t c = 0; c < l.channels; ++c) {
    int32_t* const to = packed + c / l.cols * l.panel() + l.place(c % l.cols);
    int32_t sum = 0;
    for (int64_t i = 0; i < g.kernel[0]; ++i)
      for (int64_t j = 0; j < l.wide; ++j, ++w) {
        sum += *w;
        auto* const word = reinterpret_cast<int8_t*>(to + (1 + i / 4 * l.wide + j) * l.cols);
        word[i % 4] = *w;
      }
    *to = gemm_detail::wrap_sub(bias != nullptr ? bias[c] : 0, gemm_detail::wrap_mul(x_zero, sum));
  }
}

#if defined(__AVX512F__)
/// Neighbouring pixels of a row, and a panel of their channels.
struct DepthwiseTile {
  const uint8_t* const* rows;  ///< of the image, four for each quad, from the tile's first column on
  int64_t step;                ///< from a column to the next one of a pixel's
  const int32_t* w;            ///< the panel
  const float* scale;          ///< (64), in the order of the panel
  int64_t channels;            ///< up to 64
  uint8_t* y;
};

/// R pixels with stride S and K kernel columns; K = 0: any number of columns.
template <class Arch, int R, int S, int K>
void depthwise_tile(const QuantConvLastArgs& g, const DepthwiseLayout& l, const DepthwiseTile& t) {
  using I = simd::batch<int32_t, Arch>;
  using F = simd::batch<float, Arch>;
  constexpr int L = simd::lanes<int32_t, Arch>;
  I sum[R][4];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sum[r][v] = simd::loadu<Arch>(t.w + v * L);
  const int32_t* w = t.w + l.cols;
  for (int64_t q = 0; q < l.quads; ++q, w += l.wide * l.cols) {
    const uint8_t* const* const rows = t.rows + 4 * q;
    const auto column = [&](int64_t c, I* words) {
      const auto bytes = [&](int i) { return simd::load_n<Arch>(rows[i] + c * t.step, t.channels); };
      simd::interleave_quarters(bytes(0), bytes(1), bytes(2), bytes(3), words);
    };
    if constexpr (K == 0) {
      for (int64_t c = 0; c < l.wide; ++c) {
        I words[4];
        column(c, words);
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v)
          sum[0][v] = simd::dot_bytes(words[v], simd::loadu<Arch>(w + c * l.cols + v * L), sum[0][v]);
      }
    } else {
#pragma GCC unroll 16
      for (int c = 0; c < (R - 1) * S + K; ++c) {
        I words[4];
        column(c, words);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r)
          if (c >= r * S && c < r * S + K)
#pragma GCC unroll 4
            for (int v = 0; v < 4; ++v)
              sum[r][v] =
                  simd::dot_bytes(words[v], simd::loadu<Arch>(w + (c - r * S) * l.cols + v * L), sum[r][v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    F q[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) q[v] = simd::to_float(sum[r][v]) * F(simd::loadu<Arch>(t.scale + v * L));
    simd::store_rounded_quarters_n(t.y + r * l.channels, q, g.zero, g.lo, g.hi, t.channels);
  }
}

template <class Arch>
void conv_depthwise(const QuantConvLastArgs& g) {
  const ConvGeometry& s = g.geometry;
  const DepthwiseLayout l(s);
  const int64_t C = l.channels, height = s.in[0], width = s.in[1], out_width = s.out[1];
  const int64_t stride = s.strides[1], dilation = s.dilations[1];
  auto* tile = &depthwise_tile<Arch, 1, 1, 0>;
  int64_t pixels = 1;
  if (out_width >= 4 && dilation == 1 && stride <= 2 && (l.wide == 3 || l.wide == 5)) {
    pixels = 4;
    tile = stride == 1   ? l.wide == 3 ? &depthwise_tile<Arch, 4, 1, 3> : &depthwise_tile<Arch, 4, 1, 5>
             : l.wide == 3 ? &depthwise_tile<Arch, 4, 2, 3>
                         : &depthwise_tile<Arch, 4, 2, 5>;
  }
  const int64_t columns = (pixels - 1) * stride + l.wide, reach = (columns - 1) * dilation;
  Scratch scratch;
  // A row outside of the image, and scales in the order of the panels.
  auto* const outside = scratch.take<uint8_t>(width * C);
  std::memset(outside, g.x_zero, static_cast<std::size_t>(width * C));
  auto* const scales = scratch.take<float>(l.panels() * l.cols);
  std::fill_n(scales, l.panels() * l.cols, 0.f);
  for (int64_t c = 0; c < C; ++c) scales[c / l.cols * l.cols + l.place(c % l.cols)] = g.scale[c];

  const int64_t work = out_width * l.panels() * (l.quads * l.wide + 4) * 256;
  parallel_for(
      s.batch * s.out[0], std::max<int64_t>((int64_t{1} << 21) / work, 1), [&](int64_t begin, int64_t end) {
        Scratch own;
        const int64_t most = 4 * l.quads;
        auto* const rows = own.take<const uint8_t*>(most);
        auto* const at = own.take<const uint8_t*>(most);
        auto* const patch = own.take<uint8_t>(s.kernel[0] * columns * l.cols);
        for (int64_t line = begin; line < end; ++line) {
          const uint8_t* const image =
              static_cast<const uint8_t*>(g.x) + line / s.out[0] * height * width * C;
          for (int64_t i = 0; i < most; ++i) {
            // The weights of rows past the kernel are 0.
            const int64_t y =
                line % s.out[0] * s.strides[0] - s.pads[0] + std::min(i, s.kernel[0] - 1) * s.dilations[0];
            rows[i] = y >= 0 && y < height ? image + y * width * C : outside;
          }
          for (int64_t panel = 0; panel < l.panels(); ++panel) {
            const int64_t first = panel * l.cols, channels = std::min(C - first, l.cols);
            for (int64_t p = 0; p < out_width; p += pixels) {
              const int64_t to = std::min(p, out_width - pixels), left = to * stride - s.pads[1];
              int64_t step = dilation * C;
              if (left >= 0 && left + reach < width) {
                for (int64_t i = 0; i < most; ++i) at[i] = rows[i] + left * C + first;
              } else {
                step = l.cols;
                for (int64_t i = 0; i < most; ++i) {
                  uint8_t* const copy = patch + std::min(i, s.kernel[0] - 1) * columns * l.cols;
                  at[i] = copy;
                  for (int64_t c = 0; c < columns && i < s.kernel[0]; ++c) {
                    const int64_t x = left + c * dilation;
                    const bool inside = x >= 0 && x < width;
                    const auto bytes = inside ? simd::load_n<Arch>(rows[i] + x * C + first, channels)
                                              : simd::batch<uint8_t, Arch>(static_cast<uint8_t>(g.x_zero));
                    simd::storeu(copy + c * l.cols, bytes);
                  }
                }
              }
              tile(g, l,
                   {at, step, g.packed_w + panel * l.panel(), scales + first, channels,
                    g.y + (line * out_width + to) * C + first});
            }
          }
        }
      });
}
#endif

}  // namespace tenon::kernels::conv_last_detail
