// Convolutions of bytes over tensors of (N, H, W, C) by words.
//
// A tile is a few pixels times as many output channels as four vectors hold. For each kernel place (a tap) it
// multiplies words of the pixels' input channels, in place, by vectors of weights. If zero points are 0, taps
// outside the image are left out; otherwise a padded copy of x is made. A plain x is copied too, because its
// few channels would not fill words: a tap is then a whole row of the kernel, whose cells are neighbours in
// the copy.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/sliding.hpp"
#include "tenon/kernels/quant_conv/last_args.hpp"
#include "tenon/kernels/quant_conv/last_operands.hpp"
#include "tenon/kernels/quant_conv/last_weights.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels::conv_last_detail {

/// A tap: its number, and the offset of its cell in the image, relative to the first tap.
struct Tap {
  int64_t number, x;
};

/// Pixels that see the same taps: the offsets of their first taps in the image, and of their results in y.
template <class Arch>
struct Pixels {
  int64_t count;
  const Tap *first, *last;
  int64_t from[Tile<Arch>::rows], to[Tile<Arch>::rows];
};

/// A tile's pixels and the parts of its operands that belong to its output channels.
template <class Arch>
struct TileWork {
  const Pixels<Arch>& pixels;
  int64_t words;
  const uint8_t* x;
  const int32_t* w;
  ExcessLists excess;  ///< of all panels
  int64_t list;        ///< of the first tap
  const void* next;    ///< memory to prefetch, one line per word of the pixels
  const int32_t* start;
  const float* scale;
  const uint8_t* z;
  uint8_t* y;
  int64_t channels;
};

template <class Words, class Arch, int R, int NV>
void compute_tile(const QuantConvLastArgs& g, const TileWork<Arch>& t) {
  using I = simd::batch<int32_t, Arch>;
  constexpr int L = simd::lanes<int32_t, Arch>;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    if (t.z != nullptr) TENON_PREFETCH(t.z + t.pixels.to[r], 0, 3);
    TENON_PREFETCH(t.y + t.pixels.to[r], 1, 3);
  }
  I sum[R][NV];
#pragma GCC unroll 4
  for (int v = 0; v < NV; ++v) {
    const I start = simd::loadu<Arch>(t.start + v * L);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sum[r][v] = start;
  }
  constexpr int cols = Tile<Arch>::cols;
  const auto* next = static_cast<const uint8_t*>(t.next);
  for (const Tap* tap = t.pixels.first; tap < t.pixels.last; ++tap) {
    const int32_t* w = t.w + tap->number * t.words * cols;
    const uint8_t* x[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) x[r] = t.x + (t.pixels.from[r] + tap->x);
    // Adds the products of the pixels' words q and a row of weights.
    const auto add = [&](int64_t q, const int32_t* weights) TENON_INLINE_LAMBDA {
      I wv[NV];
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) wv[v] = simd::loadu<Arch>(weights + v * L);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        if constexpr (gemm_detail::reads_lanes<Words, Arch>) {
          const I xv = simd::load_lane<Arch>(reinterpret_cast<const int32_t*>(x[r] + 4 * q));
#pragma GCC unroll 4
          for (int v = 0; v < NV; ++v) sum[r][v] = Words::template add_lane_product<0>(xv, wv[v], sum[r][v]);
        } else {
          int32_t word;
          std::memcpy(&word, x[r] + 4 * q, 4);
          const I xv(word);
#pragma GCC unroll 4
          for (int v = 0; v < NV; ++v) sum[r][v] = Words::add_product(xv, wv[v], sum[r][v]);
        }
      }
    };
    for (int64_t q = 0; q < t.words; ++q, w += cols, next += 64) {
      TENON_PREFETCH(next, 0, 3);
      add(q, w);
    }
    if constexpr (gemm_detail::may_exceed<Words>) {
      const Excess excess(t.excess, t.list + tap->number, cols);
      for (int64_t i = 0; i < excess.count; ++i) add(excess.places[i], excess.cells + i * cols);
    }
  }
  const Ending<Arch> ending(g);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
    ending.template write<NV>(sum[r], t.scale, t.z == nullptr ? nullptr : t.z + t.pixels.to[r],
                              t.y + t.pixels.to[r], t.channels);
}

template <class Arch>
using TileFunction = void (*)(const QuantConvLastArgs&, const TileWork<Arch>&);

template <class Words, class Arch>
inline constexpr auto tiles = []<int... I>(std::integer_sequence<int, I...>) {
  constexpr int vectors = Tile<Arch>::vectors;
  return std::array<TileFunction<Arch>, sizeof...(I)>{
      &compute_tile<Words, Arch, I / vectors + 1, I % vectors + 1>...};
}(std::make_integer_sequence<int, Tile<Arch>::rows * Tile<Arch>::vectors>{});

template <class Words, class Arch>
TileFunction<Arch> tile_for(int64_t rows, int64_t vectors) {
  return tiles<Words, Arch>[static_cast<std::size_t>((rows - 1) * Tile<Arch>::vectors + vectors - 1)];
}

/// Tiles of a run of pixels.
template <class Arch>
class TileList {
 public:
  TileList(const ConvGeometry& g, const Image& image, const Layout<Arch>& l, int64_t most, Scratch& scratch)
      : g_(g), image_(image), l_(l), wide_(l.taps / g.kernel[0]) {
    pixels = scratch.take<Pixels<Arch>>(most);
    taps_ = scratch.take<Tap>((most + 1) * l.taps);
    border_ = scratch.take<Pixel>(most);
    add_taps(taps_, {0, g.kernel[0], 0, wide_});
  }

  void list(int64_t first, int64_t last) {
    count = 0;
    const int64_t width = g_.out[1], most_top = image_.height - 1 - (g_.kernel[0] - 1) * g_.dilations[0];
    const int64_t most_left = image_.width - 1 - (wide_ - 1) * g_.dilations[1];
    Pixels<Arch>* tile = nullptr;
    Pixel* border = border_;
    for (int64_t p = first; p < last;) {
      const int64_t line = p / width, top = line % g_.out[0] * g_.strides[0] - image_.pad[0];
      const int64_t row = line / g_.out[0] * image_.image + top * image_.row;
      const bool inside = top >= 0 && top <= most_top;
      const int64_t stride = g_.strides[1], left = p % width * stride - image_.pad[1];
      const int64_t from = row + left * image_.pixel, step = stride * image_.pixel;
      const int64_t n = std::min((line + 1) * width, last) - p;
      // Pixels [begin, end) of these n see the whole kernel.
      const int64_t end = inside ? std::min(sliding::steps_to_zero(left - most_left - 1, stride), n) : 0;
      const int64_t begin = std::min(sliding::steps_to_zero(left, stride), end);
      const auto add_border = [&](int64_t i, int64_t last_i) {
        for (; i < last_i; ++i) {
          Range y = see(top, image_.height, g_.kernel[0], g_.dilations[0]);
          Range x = see(left + i * stride, image_.width, wide_, g_.dilations[1]);
          *border++ = {{y[0], y[1], x[0], x[1]}, p + i, from + i * step};
        }
      };
      add_border(0, begin);
      add(tile, taps_, taps_ + l_.taps, p + begin, from + begin * step, step, end - begin);
      add_border(end, n);
      p += n;
    }
    // Pixels at the border that see the same taps share tiles.
    std::sort(border_, border, [](const Pixel& a, const Pixel& b) {
      return a.seen != b.seen ? a.seen < b.seen : a.number < b.number;
    });
    Tap *taps = taps_ + l_.taps, *end = taps;
    for (const Pixel* p = border_; p < border; ++p) {
      if (p == border_ || p->seen != p[-1].seen) tile = nullptr, taps = end, end = add_taps(taps, p->seen);
      add(tile, taps, end, p->number, p->from, 0, 1);
    }
  }

  Pixels<Arch>* pixels;
  int64_t count = 0;  ///< of pixels: tiles

 private:
  using Range = std::array<int64_t, 2>;
  using Seen = std::array<int64_t, 4>;  // kernel rows [seen[0], seen[1]) and columns [seen[2], seen[3])
  struct Pixel {
    Seen seen;
    int64_t number, from;
  };

  static Range see(int64_t start, int64_t extent, int64_t kernel, int64_t dilation) {
    const int64_t end = std::min(sliding::steps_to_zero(start - extent, dilation), kernel);
    return {std::min(sliding::steps_to_zero(start, dilation), end), end};
  }
  Tap* add_taps(Tap* to, const Seen& seen) const {
    for (int64_t i = seen[0]; i < seen[1]; ++i)
      for (int64_t j = seen[2]; j < seen[3]; ++j)
        *to++ = {i * wide_ + j, i * g_.dilations[0] * image_.row + j * g_.dilations[1] * image_.pixel};
    return to;
  }
  /// Adds pixels, whose first taps are `step` apart, to `tile` until it is full, then to new tiles.
  void add(Pixels<Arch>*& tile, const Tap* first, const Tap* last, int64_t number, int64_t from, int64_t step,
           int64_t n) {
    for (const int64_t end = number + n; number < end;) {
      if (tile == nullptr || tile->count == Tile<Arch>::rows) {
        tile = pixels + count++;
        tile->count = 0, tile->first = first, tile->last = last;
      }
      int64_t k = tile->count;
      for (; k < Tile<Arch>::rows && number < end; ++k, ++number, from += step)
        tile->from[k] = from, tile->to[k] = number * l_.channels;
      tile->count = k;
    }
  }

  const ConvGeometry& g_;
  const Image& image_;
  const Layout<Arch>& l_;
  int64_t wide_;  // taps in a row of the kernel
  Tap* taps_;     // all of them, then the taps of each kind of border
  Pixel* border_;
};

/// The convolution by tiles of words and vectors. The weights have `lists` lists of excess.
template <class Words, class Arch>
void conv_by_words(const QuantConvLastArgs& g, int64_t lists) {
  constexpr int64_t rows = Tile<Arch>::rows, cols = Tile<Arch>::cols, lanes = simd::lanes<int32_t, Arch>;
  const ConvGeometry& s = g.geometry;
  const int64_t pixels = s.batch * s.out[0] * s.out[1];
  const Layout<Arch> l(s, g.plain_x, false, Words::per_cell);
  Scratch scratch;
  bool padded = g.plain_x || Words::per_cell != 4;
  for (int d = 0; d < 2 && seen_zero<Words, Arch>(g.x_zero) != 0; ++d)
    padded = padded || s.pads[d] > 0 ||
             (s.out[d] - 1) * s.strides[d] + (s.kernel[d] - 1) * s.dilations[d] - s.pads[d] >= s.in[d];
  const Image x = padded ? padded_copy<Words, Arch>(g, scratch) : plain_image<Arch>(g);
  const ExcessLists excess{const_cast<int32_t*>(g.packed_w + l.size()), lists};  // nothing is written
  const auto run = [&](const TileList<Arch>& t, int64_t begin, int64_t end, int64_t panel) {
    const int64_t c = panel * cols, channels = std::min(l.channels - c, cols);
    const int64_t vectors = whole_vectors<Arch>(channels) / lanes;
    const int32_t* const w = g.packed_w + l.starts() + panel * l.panel();
    // Four tiles prefetch the next panel, all others the next tile's pixels.
    const int64_t quarter = panel + 1 < l.panels() ? l.panel() / 4 : 0;
    for (int64_t k = begin; k < end; ++k) {
      const void* next = k - begin < 4 && quarter >= 4096
                             ? static_cast<const void*>(w + l.panel() + (k - begin) * quarter)
                             : x.data + t.pixels[std::min(k + 1, end - 1)].from[0];
      tile_for<Words, Arch>(t.pixels[k].count, vectors)(
          g, {t.pixels[k], l.words, x.data, w, excess, panel * l.taps, next, g.packed_w + c, g.scale + c,
              g.sum.z != nullptr ? g.sum.z + c : nullptr, g.y + c, channels});
    }
  };
  const auto grain = [&](int64_t products) {
    return std::max<int64_t>(task_work::byte_products / std::max<int64_t>(products, 1), 1);
  };
  // If there are few weights, they stay in the cache while pixels stream by; otherwise few pixels stay while
  // weights do.
  constexpr int64_t part = 32 * rows, most = 128 * rows;  // pixels
  if (l.size() < cache_bytes::l2 / 4 / int64_t{sizeof(int32_t)} && pixels >= 4 * part) {
    parallel_for((pixels + part - 1) / part, grain(part * l.size() * 4), [&](int64_t begin, int64_t end) {
      Scratch own;
      TileList<Arch> tiles(s, x, l, part, own);
      for (int64_t first = begin * part; first < std::min(end * part, pixels); first += part) {
        tiles.list(first, std::min(first + part, pixels));
        for (int64_t panel = 0; panel < l.panels(); ++panel) run(tiles, 0, tiles.count, panel);
      }
    });
    return;
  }
  TileList<Arch> tiles(s, x, l, std::min(pixels, most), scratch);
  for (int64_t first = 0; first < pixels; first += most) {
    tiles.list(first, std::min(first + most, pixels));
    const int64_t parts = std::max<int64_t>(tiles.count / 4, 1);
    parallel_for(l.panels() * parts, grain(4 * rows * l.panel() * 4), [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t k = task % parts;
        run(tiles, k * tiles.count / parts, (k + 1) * tiles.count / parts, task / parts);
      }
    });
  }
}

}  // namespace tenon::TENON_ABI::kernels::conv_last_detail
