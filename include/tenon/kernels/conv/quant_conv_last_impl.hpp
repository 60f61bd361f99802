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
#include "tenon/kernels/conv/sliding.hpp"
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

/// Pixels that see the same taps: their numbers, times Cout, and taps[first] to taps[last].
template <class Arch>
struct Pixels {
  int64_t count, first, last;
  int64_t at[Tile<Arch>::rows];
};

/// A tile's pixels and the parts of its operands that belong to its output channels.
template <class Arch>
struct TileWork {
  const Pixels<Arch>& pixels;
  const Tap<Arch>* taps;
  int64_t quads;
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
  for (const Tap<Arch>*tap = t.taps + t.pixels.first, *end = t.taps + t.pixels.last; tap < end; ++tap) {
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
  if (t.z == nullptr) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      F q[NV];
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) q[v] = simd::to_float(sum[r][v]) * F(simd::loadu<Arch>(t.scale + v * L));
      simd::store_rounded<NV>(t.y + t.pixels.at[r], q, g.zero, g.lo, g.hi);
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
      const F other = simd::to_float(simd::load_bytes<Arch>(t.z + t.pixels.at[r] + v * L) - z_zero);
      q[v] = simd::mul_add(other, z_rate, own);
    }
    simd::store_rounded<NV>(t.y + t.pixels.at[r], q, g.sum.zero, g.sum.lo, g.sum.hi);
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

template <class Arch>
TileFunction<Arch> tile_for(int64_t rows, int64_t vectors) {
  return tiles<Arch>[static_cast<std::size_t>((rows - 1) * Tile<Arch>::vectors + vectors - 1)];
}

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

/// Tiles of a run of pixels. Where zero points are 0, taps that a pixel sees outside of the image are left
/// out, and tiles are made of pixels that see the same taps.
template <class Arch>
class TileList {
 public:
  TileList(const QuantConvLastArgs& g, const Image& x, const Layout<Arch>& l, const uint8_t* outside,
           int64_t most, Scratch& scratch)
      : g_(g.geometry), x_(x), l_(l), outside_(outside), skips_(g.x_zero == 0 && l.taps > 1) {
    wide_ = l.taps / g_.kernel[0];
    taps = scratch.take<Tap<Arch>>(most * l.taps);
    pixels = scratch.take<Pixels<Arch>>(most);
    border_ = scratch.take<Pixel>(most);
    ways_ = scratch.take<Way>(l.taps);
    for (int64_t t = 0; t < l.taps; ++t)
      ways_[t] = {t * l.quads * Tile<Arch>::cols,
                  t / wide_ * g_.dilations[0] * x.row + t % wide_ * g_.dilations[1] * x.pixel};
  }
  void list(int64_t first, int64_t last) {
    count = 0, tap_count_ = 0, border_count_ = 0;
    int64_t x = first % g_.out[1], y = first / g_.out[1] % g_.out[0], n = first / g_.out[1] / g_.out[0];
    Pixels<Arch>* tile = nullptr;
    for (int64_t p = first; p < last; ++p) {
      Pixel pixel{
          p, n, y * g_.strides[0] - x_.pad[0], x * g_.strides[1] - x_.pad[1], {0, g_.kernel[0], 0, wide_}};
      const bool inside = pixel.top >= 0 && pixel.left >= 0 &&
                          pixel.top + (g_.kernel[0] - 1) * g_.dilations[0] < x_.height &&
                          pixel.left + (wide_ - 1) * g_.dilations[1] < x_.width;
      if (inside) {
        add_inner(tile, pixel);
      } else if (!skips_) {
        add_outer(tile, pixel);
      } else {
        see(pixel.top, x_.height, g_.dilations[0], pixel.seen.data());
        see(pixel.left, x_.width, g_.dilations[1], pixel.seen.data() + 2);
        border_[border_count_++] = pixel;
      }
      if (++x < g_.out[1]) continue;
      x = 0;
      if (++y < g_.out[0]) continue;
      y = 0, ++n;
    }
    std::sort(border_, border_ + border_count_, [](const Pixel& a, const Pixel& b) {
      return a.seen != b.seen ? a.seen < b.seen : a.number < b.number;
    });
    for (int64_t k = 0; k < border_count_; ++k) {
      if (k == 0 || border_[k].seen != border_[k - 1].seen) tile = nullptr;
      add_outer(tile, border_[k]);
    }
  }

  Tap<Arch>* taps;
  Pixels<Arch>* pixels;
  int64_t count = 0;  ///< of pixels: tiles

 private:
  struct Pixel {
    int64_t number, image, top, left;
    std::array<int64_t, 4> seen;  ///< kernel rows [0, 1) and columns [2, 3)
  };
  struct Way {
    int64_t w, x;  // from the first tap: of weights, and in the image
  };
  static void see(int64_t start, int64_t extent, int64_t dilation, int64_t* seen) {
    seen[1] = std::min(sliding::steps_to_zero(start - extent, dilation), seen[1]);
    seen[0] = std::min(sliding::steps_to_zero(start, dilation), seen[1]);
  }
  /// A tile that has room, with taps of so many ways if it is new.
  Pixels<Arch>* room(Pixels<Arch>* tile, int64_t ways) {
    if (tile != nullptr && tile->count < Tile<Arch>::rows) return tile;
    tile = pixels + count++;
    tile->count = 0, tile->first = tap_count_, tile->last = tap_count_ += ways;
    return tile;
  }
  /// Adds a pixel that sees all taps inside of the image.
  void add_inner(Pixels<Arch>*& tile, const Pixel& p) {
    tile = room(tile, l_.taps);
    const int64_t r = tile->count++;
    tile->at[r] = p.number * l_.channels;
    const uint8_t* from = x_.data + p.image * x_.image + p.top * x_.row + p.left * x_.pixel;
    Tap<Arch>* tap = taps + tile->first;
    for (int64_t t = 0; t < l_.taps; ++t) tap[t].x[r] = from + ways_[t].x;
    for (int64_t t = 0; r == 0 && t < l_.taps; ++t) tap[t].w = ways_[t].w;
  }
  /// Adds a pixel that sees some taps only.
  void add_outer(Pixels<Arch>*& tile, const Pixel& p) {
    tile = room(tile, (p.seen[1] - p.seen[0]) * (p.seen[3] - p.seen[2]));
    const int64_t r = tile->count++, from = p.image * x_.image + p.top * x_.row + p.left * x_.pixel;
    tile->at[r] = p.number * l_.channels;
    Tap<Arch>* tap = taps + tile->first;
    for (int64_t i = p.seen[0]; i < p.seen[1]; ++i)
      for (int64_t j = p.seen[2]; j < p.seen[3]; ++j, ++tap) {
        const int64_t y = p.top + i * g_.dilations[0], x = p.left + j * g_.dilations[1];
        const Way& way = ways_[i * wide_ + j];
        const bool inside = y >= 0 && y < x_.height && x >= 0 && x < x_.width;
        tap->w = way.w;
        tap->x[r] = inside ? x_.data + (from + way.x) : outside_;
      }
  }

  const ConvGeometry& g_;
  const Image& x_;
  const Layout<Arch>& l_;
  const uint8_t* outside_;
  bool skips_;
  int64_t wide_;  // taps in a row of the kernel
  Pixel* border_;
  Way* ways_;
  int64_t tap_count_ = 0, border_count_ = 0;
};

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
  const auto run = [&](const TileList<Arch>& t, int64_t begin, int64_t end, int64_t panel) {
    const int64_t c = panel * cols, vectors = std::min(l.channels - c, cols) / lanes;
    for (int64_t k = begin; k < end; ++k)
      tile_for<Arch>(t.pixels[k].count, vectors)(
          g, {t.pixels[k], t.taps, l.quads, g.packed_w + l.channels + panel * l.panel(), g.packed_w + c,
              g.scale + c, g.sum.z != nullptr ? g.sum.z + c : nullptr, g.y + c});
  };
  const auto grain = [&](int64_t products) {
    return std::max<int64_t>((int64_t{1} << 22) / std::max<int64_t>(products, 1), 1);
  };
  // Few weights stay in the cache while pixels pass by, few pixels while weights do.
  constexpr int64_t part = 32 * rows, most = 128 * rows;  // pixels
  if (l.size() < (int64_t{1} << 16) && pixels >= 4 * part) {
    parallel_for((pixels + part - 1) / part, grain(part * l.size() * 4), [&](int64_t begin, int64_t end) {
      Scratch own;
      TileList<Arch> tiles(g, x, l, outside, part, own);
      for (int64_t first = begin * part; first < std::min(end * part, pixels); first += part) {
        tiles.list(first, std::min(first + part, pixels));
        for (int64_t panel = 0; panel < l.panels(); ++panel) run(tiles, 0, tiles.count, panel);
      }
    });
    return;
  }
  TileList<Arch> tiles(g, x, l, outside, std::min(pixels, most), scratch);
  for (int64_t first = 0; first < pixels; first += most) {
    tiles.list(first, std::min(first + most, pixels));
    const int64_t parts = std::max<int64_t>(tiles.count / 12, 1);
    parallel_for(l.panels() * parts, grain(12 * rows * l.panel() * 4), [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t k = task % parts;
        run(tiles, k * tiles.count / parts, (k + 1) * tiles.count / parts, task / parts);
      }
    });
  }
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
