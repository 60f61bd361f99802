// Convolutions of bytes over tensors of (N, H, W, C): bodies.
//
// A tile is a few pixels times as many output channels as four vectors hold. Of each kernel place (a tap) it
// multiplies words of the pixels' input channels, wherever those lie, with vectors of weights. Pixels outside
// of the image are a row of zero points. Of a plain x, whose few channels would not fill words, a copy with
// its padding is made, and a tap is a whole row of the kernel: its cells are neighbours in the copy.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/quant_conv_last.hpp"
#include "tenon/kernels/gemm/bytes.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::kernels::conv_last_detail {

/// The register tile: 24 sums, 4 vectors of weights, 1 word of 32 registers. Levels without 32 registers have
/// no instruction for this product either, so that their tiles are only small.
template <class Arch>
struct Tile {
  static constexpr int vectors = 4, cols = vectors * simd::lanes<int32_t, Arch>;
  static constexpr int rows = Arch::register_bytes == 64 ? 6 : 1;
};

/// Extents of the packed weights: sums to start from, for each output channel, then panels of `cols` output
/// channels, each of taps of `quads` words for each channel.
template <class Arch>
struct Layout {
  int64_t taps, quads, channels;

  Layout(const ConvGeometry& g, bool plain)
      : taps(g.kernel[0] * (plain ? 1 : g.kernel[1])),
        quads((g.in_channels * (plain ? g.kernel[1] : 1) + 3) / 4),
        channels(g.out_channels) {}
  int64_t panels() const { return (channels + Tile<Arch>::cols - 1) / Tile<Arch>::cols; }
  int64_t panel() const { return taps * quads * Tile<Arch>::cols; }
  int64_t size() const { return channels + panels() * panel(); }
};

/// A tap of a tile: the place of its weights in a panel, and what each pixel sees through it.
template <class Arch>
struct Tap {
  int64_t w;
  const uint8_t* x[Tile<Arch>::rows];
};

template <class Arch>
struct TileWork {
  const Tap<Arch>* taps;
  int64_t count, quads;
  const int32_t *w, *start;
  const float* scale;
  const uint8_t* z;
  uint8_t* y;
};

template <class Arch, int R, int NV>
void compute_tile(const QuantConvLastArgs& g, const TileWork<Arch>& t) {
  using I = simd::batch<int32_t, Arch>;
  using F = simd::batch<float, Arch>;
  constexpr int L = simd::lanes<int32_t, Arch>;
  I sum[R][NV];
#pragma GCC unroll 4
  for (int v = 0; v < NV; ++v) {
    const I start = simd::loadu<Arch>(t.start + v * L);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sum[r][v] = start;
  }
  for (const Tap<Arch>* tap = t.taps; tap < t.taps + t.count; ++tap) {
    const int32_t* w = t.w + tap->w;
    const uint8_t* x[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) x[r] = tap->x[r];
    for (int64_t q = 0; q < t.quads; ++q, w += Tile<Arch>::cols) {
      I wv[NV];
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) wv[v] = simd::loadu<Arch>(w + v * L);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        int32_t word;
        std::memcpy(&word, x[r] + 4 * q, 4);
        const I xv(word);
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) sum[r][v] = simd::dot_bytes(xv, wv[v], sum[r][v]);
      }
    }
  }
  const int64_t step = g.geometry.out_channels;
  if (t.z == nullptr) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      F q[NV];
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) q[v] = simd::to_float(sum[r][v]) * F(simd::loadu<Arch>(t.scale + v * L));
      simd::store_rounded<NV>(t.y + r * step, q, g.zero, g.lo, g.hi);
    }
    return;
  }
  const F magic(0x1.8p23f), least(static_cast<float>(g.lo - g.zero)), most(static_cast<float>(g.hi - g.zero));
  const F rate(g.sum.rate), z_rate(g.sum.z_rate);
  const I z_zero(g.sum.z_zero);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    F q[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      F own = simd::to_float(sum[r][v]) * F(simd::loadu<Arch>(t.scale + v * L));
      own = simd::min(simd::max(own, least), most);
      own = ((own + magic) - magic) * rate;
      q[v] = own + simd::to_float(simd::load_bytes<Arch>(t.z + r * step + v * L) - z_zero) * z_rate;
    }
    simd::store_rounded<NV>(t.y + r * step, q, g.sum.zero, g.sum.lo, g.sum.hi);
  }
}

template <class Arch>
using TileFunction = void (*)(const QuantConvLastArgs&, const TileWork<Arch>&);

template <class Arch>
inline constexpr auto tiles = []<int... I>(std::integer_sequence<int, I...>) {
  constexpr int vectors = Tile<Arch>::vectors;
  return std::array<TileFunction<Arch>, sizeof...(I)>{
      &compute_tile<Arch, I / vectors + 1, I % vectors + 1>...};
}(std::make_integer_sequence<int, Tile<Arch>::rows * Tile<Arch>::vectors>{});

/// The input of the taps: pixel (n, y, x) is at data + n * image + y * row + x * pixel.
struct Image {
  const uint8_t* data;
  int64_t image, row, pixel, height, width, pad[2];
};

/// A copy of a plain x with its padding, pixel by pixel.
template <class Arch>
Image copy_plain(const QuantConvLastArgs& g, Scratch& scratch) {
  const ConvGeometry& s = g.geometry;
  const int64_t channels = s.in_channels, in = s.in[0] * s.in[1];
  const auto span = [&](int d) {
    return (s.out[d] - 1) * s.strides[d] + (s.kernel[d] - 1) * s.dilations[d] + 1;
  };
  const int64_t height = span(0), width = span(1), row = width * channels;
  const int64_t slack = 4;  // the last words end past the last pixel
  auto* copy = scratch.take<uint8_t>(s.batch * height * row + slack);
  const uint8_t flip = g.x_signed ? 128 : 0;
  parallel_for(
      s.batch * height, std::max<int64_t>((int64_t{1} << 14) / row, 1), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          uint8_t* to = copy + r * row;
          const int64_t y = r % height - s.pads[0];
          const int64_t first = std::clamp<int64_t>(s.pads[1], 0, width);
          const int64_t last = std::clamp<int64_t>(s.in[1] + s.pads[1], first, width);
          std::memset(to, g.x_zero, static_cast<std::size_t>(row));
          if (y < 0 || y >= s.in[0]) continue;
          const auto* from =
              static_cast<const uint8_t*>(g.x) + r / height * channels * in + y * s.in[1] - s.pads[1];
          for (int64_t c = 0; c < channels; ++c, from += in)
            for (int64_t x = first; x < last; ++x) to[x * channels + c] = from[x] ^ flip;
        }
      });
  std::memset(copy + s.batch * height * row, 0, slack);
  return {copy, height * row, row, channels, height, width, {0, 0}};
}

/// Fills the taps of `rows` pixels from `first` on; returns how many of them see the image at all. Taps that
/// only see zero points which are 0 are left out.
template <class Arch>
int64_t list_taps(const QuantConvLastArgs& g, const Image& x, const Layout<Arch>& l, const uint8_t* outside,
                  int64_t first, int64_t rows, Tap<Arch>* taps) {
  const ConvGeometry& s = g.geometry;
  const int64_t kernel_h = s.kernel[0], kernel_w = l.taps / kernel_h, cols = l.quads * Tile<Arch>::cols;
  bool whole = true;
  for (int64_t t = 0; t < l.taps; ++t) taps[t].w = t * cols;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t p = first + r, line = p / s.out[1];
    const int64_t top = line % s.out[0] * s.strides[0] - x.pad[0],
                  left = p % s.out[1] * s.strides[1] - x.pad[1];
    const uint8_t* image = x.data + line / s.out[0] * x.image;
    const bool inside = top >= 0 && left >= 0 && top + (kernel_h - 1) * s.dilations[0] < x.height &&
                        left + (kernel_w - 1) * s.dilations[1] < x.width;
    whole = whole && inside;
    Tap<Arch>* tap = taps;
    for (int64_t i = 0; i < kernel_h; ++i)
      for (int64_t j = 0; j < kernel_w; ++j, ++tap) {
        const int64_t at_y = top + i * s.dilations[0], at_x = left + j * s.dilations[1];
        const bool seen = inside || (at_y >= 0 && at_y < x.height && at_x >= 0 && at_x < x.width);
        tap->x[r] = seen ? image + at_y * x.row + at_x * x.pixel : outside;
      }
  }
  if (whole || g.x_zero != 0) return l.taps;
  return std::remove_if(taps, taps + l.taps,
                        [&](const Tap<Arch>& tap) {
                          return std::all_of(tap.x, tap.x + rows,
                                             [&](const uint8_t* p) { return p == outside; });
                        }) -
         taps;
}

}  // namespace tenon::kernels::conv_last_detail

namespace tenon::kernels {

template <class Arch>
bool fast_conv_last_impl() {
  return simd::has_dot_bytes<Arch>();
}

template <class Arch>
int64_t quant_conv_last_weight_size_impl(const ConvGeometry& g, bool plain_x) {
  return conv_last_detail::Layout<Arch>(g, plain_x).size();
}

template <class Arch>
void quant_conv_last_pack_impl(const ConvGeometry& g, bool plain_x, const int8_t* w, const int32_t* bias,
                               int32_t x_zero, int32_t* packed) {
  using namespace conv_last_detail;
  const Layout<Arch> l(g, plain_x);
  constexpr int64_t cols = Tile<Arch>::cols;
  std::fill_n(packed, l.size(), 0);
  parallel_for(g.out_channels, 16, [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m) {
      const int64_t cells = g.kernel[0] * g.kernel[1];
      const int8_t* from = w + m * g.in_channels * cells;
      auto* to = reinterpret_cast<int8_t*>(packed + l.channels + m / cols * l.panel() + m % cols);
      int32_t sum = 0;
      for (int64_t c = 0; c < g.in_channels; ++c)
        for (int64_t t = 0; t < cells; ++t, ++from) {
          const int64_t tap = plain_x ? t / g.kernel[1] : t;
          const int64_t e = plain_x ? t % g.kernel[1] * g.in_channels + c : c;
          to[(tap * l.quads + e / 4) * cols * 4 + e % 4] = *from;
          sum = gemm_detail::wrap_add(sum, *from);
        }
      packed[m] = gemm_detail::wrap_sub(bias != nullptr ? bias[m] : 0, gemm_detail::wrap_mul(x_zero, sum));
    }
  });
}

template <class Arch>
void quant_conv_last_impl(const QuantConvLastArgs& g) {
  using namespace conv_last_detail;
  constexpr int64_t rows = Tile<Arch>::rows, cols = Tile<Arch>::cols, lanes = simd::lanes<int32_t, Arch>;
  const ConvGeometry& s = g.geometry;
  const int64_t pixels = s.batch * s.out[0] * s.out[1];
  if (pixels <= 0) return;
  const Layout<Arch> l(s, g.plain_x);
  Scratch scratch;
  auto* outside = scratch.take<uint8_t>(4 * l.quads);
  std::memset(outside, g.x_zero, static_cast<std::size_t>(4 * l.quads));
  const Image x = g.plain_x ? copy_plain<Arch>(g, scratch)
                            : Image{static_cast<const uint8_t*>(g.x),
                                    s.in[0] * s.in[1] * s.in_channels,
                                    s.in[1] * s.in_channels,
                                    s.in_channels,
                                    s.in[0],
                                    s.in[1],
                                    {s.pads[0], s.pads[1]}};
  // Few weights stay in the cache while pixels pass by, few pixels while weights do.
  const int64_t chunks = std::max<int64_t>(pixels / 48, 1);
  const int64_t chunk = ((pixels + chunks - 1) / chunks + rows - 1) / rows * rows;
  const int64_t parts = (pixels + chunk - 1) / chunk;
  const bool by_pixels = l.size() < (int64_t{1} << 16) && parts >= 8;
  const int64_t at_once = by_pixels ? l.panels() : 1;  // panels
  const int64_t work = chunk * at_once * l.panel() * 4;
  parallel_for(
      parts * (l.panels() / at_once), std::max<int64_t>((int64_t{1} << 22) / std::max<int64_t>(work, 1), 1),
      [&](int64_t begin, int64_t end) {
        Scratch own;
        const int64_t most = (chunk + rows - 1) / rows;
        auto* taps = own.take<Tap<Arch>>(most * l.taps);
        auto* counts = own.take<int64_t>(most);
        int64_t listed = -1;
        for (int64_t task = begin; task < end; ++task) {
          const int64_t part = task % parts, first = part * chunk, last = std::min(first + chunk, pixels);
          for (int64_t p = first, k = 0; part != listed && p < last; p += rows, ++k)
            counts[k] = list_taps<Arch>(g, x, l, outside, p, std::min(rows, last - p), taps + k * l.taps);
          listed = part;
          for (int64_t panel = task / parts * at_once; panel < (task / parts + 1) * at_once; ++panel) {
            const int64_t c = panel * cols, vectors = std::min(l.channels - c, cols) / lanes;
            for (int64_t p = first, k = 0; p < last; p += rows, ++k) {
              const int64_t r = std::min(rows, last - p), at = p * l.channels + c;
              tiles<Arch>[static_cast<std::size_t>((r - 1) * Tile<Arch>::vectors + vectors - 1)](
                  g, {taps + k * l.taps, counts[k], l.quads, g.packed_w + l.channels + panel * l.panel(),
                      g.packed_w + c, g.scale + c, g.sum.z != nullptr ? g.sum.z + at : nullptr, g.y + at});
            }
          }
        }
      });
}

}  // namespace tenon::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::kernels {

template bool fast_conv_last_impl<TENON_INSTANTIATE>();
template int64_t quant_conv_last_weight_size_impl<TENON_INSTANTIATE>(const ConvGeometry&, bool);
template void quant_conv_last_pack_impl<TENON_INSTANTIATE>(const ConvGeometry&, bool, const int8_t*,
                                                           const int32_t*, int32_t, int32_t*);
template void quant_conv_last_impl<TENON_INSTANTIATE>(const QuantConvLastArgs&);

}  // namespace tenon::kernels
#endif
