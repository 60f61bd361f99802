// Convolutions of bytes over tensors of (N, H, W, C): bodies.
//
// A tile is a few pixels times as many output channels as four vectors hold. Of each kernel place (a tap) it
// multiplies words of the pixels' input channels, wherever those lie, with vectors of weights. Where zero
// points are 0, taps outside of the image are left out; else a copy with its padding is made. So it is of a
// plain x, whose few channels would not fill words: there a tap is a whole row of the kernel, whose cells are
// neighbours in the copy.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/quant_conv_last.hpp"
#include "tenon/kernels/conv/quant_conv_last_weights.hpp"
#include "tenon/kernels/conv/sliding.hpp"
#include "tenon/kernels/gemm/byte_tiles.hpp"
#include "tenon/simd/batch.hpp"
#include "tenon/simd/copy.hpp"

namespace tenon::kernels::conv_last_detail {

/// A tap: the places of its weights in a panel and of its cell in the image, counted from the first tap.
struct Tap {
  int64_t w, x;
};

/// Pixels that see the same taps: the places of their first taps in the image, and of their results in y.
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
  int64_t quads;
  const uint8_t* x;
  const int32_t* w;
  const void* next;  ///< memory to fetch, a line for each word of the pixels
  const int32_t* start;
  const float* scale;
  const uint8_t* z;
  uint8_t* y;
};

/// What becomes of sums.
template <class Arch>
class Ending {
 public:
  explicit Ending(const QuantConvLastArgs& g)
      : g_(g),
        least_(static_cast<float>(g.lo - g.zero)),
        most_(static_cast<float>(g.hi - g.zero)),
        rate_(g.sum.rate),
        z_rate_(g.sum.z_rate),
        z_zero_(g.sum.z_zero) {}

  /// Writes a pixel's bytes of NV vectors of channels.
  template <int NV>
  void write(const simd::batch<int32_t, Arch>* sum, const float* scale, const uint8_t* z, uint8_t* y) const {
    F q[NV];
    if (z == nullptr) {
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) q[v] = simd::to_float(sum[v]) * F(simd::loadu<Arch>(scale + v * L));
      return simd::store_rounded<NV>(y, q, g_.zero, g_.lo, g_.hi);
    }
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      F own = simd::to_float(sum[v]) * F(simd::loadu<Arch>(scale + v * L));
      own = simd::min(simd::max(own, least_), most_);
      own = simd::nearbyint(own) * rate_;
      const F other = simd::to_float(simd::load_bytes<Arch>(z + v * L) - z_zero_);
      q[v] = simd::mul_add(other, z_rate_, own);
    }
    simd::store_rounded<NV>(y, q, g_.sum.zero, g_.sum.lo, g_.sum.hi);
  }

  /// The same for `pixels` whose sums are `row` apart, and whose bytes `step`.
  void write(int64_t vectors, int64_t pixels, const int32_t* sums, int64_t row, const float* scale,
             const uint8_t* z, uint8_t* y, int64_t step) const {
    const auto write_all = [&]<int NV>(std::integral_constant<int, NV>) {
      for (int64_t p = 0; p < pixels; ++p) {
        I sum[NV];
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) sum[v] = simd::loadu<Arch>(sums + p * row + v * L);
        write<NV>(sum, scale, z == nullptr ? nullptr : z + p * step, y + p * step);
      }
    };
    for (; vectors > 4; vectors -= 4, sums += 4 * L, scale += 4 * L, y += 4 * L) {
      write_all(std::integral_constant<int, 4>{});
      if (z != nullptr) z += 4 * L;
    }
    switch (vectors) {
      case 1: return write_all(std::integral_constant<int, 1>{});
      case 2: return write_all(std::integral_constant<int, 2>{});
      case 3: return write_all(std::integral_constant<int, 3>{});
      default: return write_all(std::integral_constant<int, 4>{});
    }
  }

 private:
  using I = simd::batch<int32_t, Arch>;
  using F = simd::batch<float, Arch>;
  static constexpr int L = simd::lanes<int32_t, Arch>;
  const QuantConvLastArgs& g_;
  const F least_, most_, rate_, z_rate_;
  const I z_zero_;
};

template <class Arch, int R, int NV>
void compute_tile(const QuantConvLastArgs& g, const TileWork<Arch>& t) {
  using I = simd::batch<int32_t, Arch>;
  constexpr int L = simd::lanes<int32_t, Arch>;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    if (t.z != nullptr) __builtin_prefetch(t.z + t.pixels.to[r]);
    __builtin_prefetch(t.y + t.pixels.to[r], 1);
  }
  I sum[R][NV];
#pragma GCC unroll 4
  for (int v = 0; v < NV; ++v) {
    const I start = simd::loadu<Arch>(t.start + v * L);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sum[r][v] = start;
  }
  const auto* next = static_cast<const uint8_t*>(t.next);
  for (const Tap* tap = t.pixels.first; tap < t.pixels.last; ++tap) {
    const int32_t* w = t.w + tap->w;
    const uint8_t* x[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) x[r] = t.x + (t.pixels.from[r] + tap->x);
    for (int64_t q = 0; q < t.quads; ++q, w += Tile<Arch>::cols, next += 64) {
      __builtin_prefetch(next);
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
  const Ending<Arch> ending(g);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
    ending.template write<NV>(sum[r], t.scale, t.z == nullptr ? nullptr : t.z + t.pixels.to[r],
                              t.y + t.pixels.to[r]);
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

/// The input: pixel (n, y, x) is at data + n * image + y * row + x * pixel.
struct Image {
  const uint8_t* data;
  int64_t image, row, pixel, height, width, pad[2];
};

template <class Arch>
Image plain_image(const QuantConvLastArgs& g) {
  const ConvGeometry& s = g.geometry;
  const int64_t row = s.in[1] * s.in_channels;
  return {static_cast<const uint8_t*>(g.x),
          s.in[0] * row,
          row,
          s.in_channels,
          s.in[0],
          s.in[1],
          {s.pads[0], s.pads[1]}};
}

/// Bytes that may be read from any tap of a padded copy: a plain x's last words end past the last pixel.
inline constexpr int64_t short_tap = 32;

/// A copy of x with its padding, pixel by pixel.
template <class Arch>
Image padded_copy(const QuantConvLastArgs& g, Scratch& scratch) {
  const ConvGeometry& s = g.geometry;
  const int64_t channels = s.in_channels, in = s.in[0] * s.in[1];
  const auto span = [&](int d) {
    return (s.out[d] - 1) * s.strides[d] + (s.kernel[d] - 1) * s.dilations[d] + 1;
  };
  const int64_t height = span(0), width = span(1), row = width * channels;
  auto* copy = scratch.take<uint8_t>(s.batch * height * row + short_tap);
  std::memset(copy + s.batch * height * row, 0, short_tap);
  const int64_t first = std::clamp<int64_t>(s.pads[1], 0, width);
  const int64_t last = std::clamp<int64_t>(s.in[1] + s.pads[1], first, width);
  const uint8_t flip = g.x_signed ? 128 : 0;
  const auto copy_rows = [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      uint8_t* to = copy + r * row;
      const int64_t y = r % height - s.pads[0];
      std::memset(to, g.x_zero, static_cast<std::size_t>(row));
      if (y < 0 || y >= s.in[0]) continue;
      const auto* image = static_cast<const uint8_t*>(g.x) + r / height * channels * in;
      const int64_t from = y * s.in[1] + first - s.pads[1];
      if (!g.plain_x)
        simd::copy(to + first * channels, image + from * channels,
                   static_cast<std::size_t>((last - first) * channels));
      for (int64_t c = 0; g.plain_x && c < channels; ++c)
        for (int64_t x = first; x < last; ++x) to[x * channels + c] = image[c * in + from + x - first] ^ flip;
    }
  };
  parallel_for(s.batch * height, std::max<int64_t>((int64_t{1} << 14) / row, 1), copy_rows);
  return {copy, height * row, row, channels, height, width, {0, 0}};
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
      int64_t left = p % width * g_.strides[1] - image_.pad[1];
      for (const int64_t end = std::min((line + 1) * width, last); p < end; ++p, left += g_.strides[1]) {
        const int64_t from = row + left * image_.pixel;
        if (inside && left >= 0 && left <= most_left) {
          add(tile, taps_, taps_ + l_.taps, p, from);
        } else {
          Range y = see(top, image_.height, g_.kernel[0], g_.dilations[0]);
          Range x = see(left, image_.width, wide_, g_.dilations[1]);
          *border++ = {{y[0], y[1], x[0], x[1]}, p, from};
        }
      }
    }
    // Those at the border that see the same taps come together.
    std::sort(border_, border, [](const Pixel& a, const Pixel& b) {
      return a.seen != b.seen ? a.seen < b.seen : a.number < b.number;
    });
    Tap *taps = taps_ + l_.taps, *end = taps;
    for (const Pixel* p = border_; p < border; ++p) {
      if (p == border_ || p->seen != p[-1].seen) tile = nullptr, taps = end, end = add_taps(taps, p->seen);
      add(tile, taps, end, p->number, p->from);
    }
  }

  Pixels<Arch>* pixels;
  int64_t count = 0;  ///< of pixels: tiles

 private:
  using Range = std::array<int64_t, 2>;
  using Seen = std::array<int64_t, 4>;  // kernel rows [0, 1) and columns [2, 3)
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
        *to++ = {(i * wide_ + j) * l_.quads * Tile<Arch>::cols,
                 i * g_.dilations[0] * image_.row + j * g_.dilations[1] * image_.pixel};
    return to;
  }
  /// Adds a pixel to a tile, if there is one that has room, else to a new one.
  void add(Pixels<Arch>*& tile, const Tap* first, const Tap* last, int64_t number, int64_t from) {
    if (tile == nullptr || tile->count == Tile<Arch>::rows) {
      tile = pixels + count++;
      tile->count = 0, tile->first = first, tile->last = last;
    }
    tile->from[tile->count] = from;
    tile->to[tile->count++] = number * l_.channels;
  }

  const ConvGeometry& g_;
  const Image& image_;
  const Layout<Arch>& l_;
  int64_t wide_;  // taps in a row of the kernel
  Tap* taps_;     // all of them, then the taps of each kind of border
  Pixel* border_;
};

/// The convolution by tiles of words and vectors.
template <class Arch>
void conv_by_words(const QuantConvLastArgs& g) {
  constexpr int64_t rows = Tile<Arch>::rows, cols = Tile<Arch>::cols, lanes = simd::lanes<int32_t, Arch>;
  const ConvGeometry& s = g.geometry;
  const int64_t pixels = s.batch * s.out[0] * s.out[1];
  const Layout<Arch> l(s, g.plain_x, false);
  Scratch scratch;
  bool padded = g.plain_x;
  for (int d = 0; d < 2 && g.x_zero != 0; ++d)
    padded = padded || s.pads[d] > 0 ||
             (s.out[d] - 1) * s.strides[d] + (s.kernel[d] - 1) * s.dilations[d] - s.pads[d] >= s.in[d];
  const Image x = padded ? padded_copy<Arch>(g, scratch) : plain_image<Arch>(g);
  const auto run = [&](const TileList<Arch>& t, int64_t begin, int64_t end, int64_t panel) {
    const int64_t c = panel * cols, vectors = std::min(l.channels - c, cols) / lanes;
    const int32_t* const w = g.packed_w + l.channels + panel * l.panel();
    // Four tiles fetch the next panel, all others the next tile's pixels.
    const int64_t quarter = panel + 1 < l.panels() ? l.panel() / 4 : 0;
    for (int64_t k = begin; k < end; ++k) {
      const void* next = k - begin < 4 && quarter >= 4096
                             ? static_cast<const void*>(w + l.panel() + (k - begin) * quarter)
                             : x.data + t.pixels[std::min(k + 1, end - 1)].from[0];
      tile_for<Arch>(t.pixels[k].count, vectors)(
          g, {t.pixels[k], l.quads, x.data, w, next, g.packed_w + c, g.scale + c,
              g.sum.z != nullptr ? g.sum.z + c : nullptr, g.y + c});
    }
  };
  const auto grain = [&](int64_t products) {
    return std::max<int64_t>((int64_t{1} << 22) / std::max<int64_t>(products, 1), 1);
  };
  // Few weights stay in the cache while pixels pass by, few pixels while weights do.
  constexpr int64_t part = 32 * rows, most = 128 * rows;  // pixels
  if (l.size() < (int64_t{1} << 16) && pixels >= 4 * part) {
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
    const int64_t parts = std::max<int64_t>(tiles.count / 12, 1);
    parallel_for(l.panels() * parts, grain(12 * rows * l.panel() * 4), [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t k = task % parts;
        run(tiles, k * tiles.count / parts, (k + 1) * tiles.count / parts, task / parts);
      }
    });
  }
}

// ------------------------------------------------------------------------------------------- tile registers

/// Copies the taps of `count` pixels, one after the other and then zeros up to whole registers, to lines
/// `line` apart. Up to short_tap bytes past the last line may be written.
template <class Arch>
void fill_lines(const ConvGeometry& g, const Image& image, const Layout<Arch>& l, bool copied, int32_t border,
                int64_t first, int64_t count, uint8_t* to, int64_t line) {
  const int64_t wide = l.taps / g.kernel[0], tap = 4 * l.quads;
  const bool dense = wide == 1 || (g.dilations[1] == 1 && image.pixel == tap);
  const bool is_short = copied && wide * tap <= short_tap;
  for (int64_t p = first; p < first + count; ++p, to += line) {
    const int64_t row = p / g.out[1], left = p % g.out[1] * g.strides[1] - image.pad[1];
    const int64_t top = row % g.out[0] * g.strides[0] - image.pad[0];
    const uint8_t* const from = image.data + row / g.out[0] * image.image + left * image.pixel;
    const bool whole = dense && left >= 0 && left + wide <= image.width;
    uint8_t* at = to;
    for (int64_t i = 0; i < g.kernel[0]; ++i) {
      const int64_t y = top + i * g.dilations[0];
      const bool inside = y >= 0 && y < image.height;
      if (inside && whole) {
        if (is_short) std::memcpy(at, from + y * image.row, short_tap);
        else simd::copy(at, from + y * image.row, static_cast<std::size_t>(wide * tap));
        at += wide * tap;
        continue;
      }
      for (int64_t j = 0; j < wide; ++j, at += tap) {
        const int64_t x = j * g.dilations[1];
        if (inside && left + x >= 0 && left + x < image.width)
          simd::copy(at, from + y * image.row + x * image.pixel, static_cast<std::size_t>(tap));
        else std::memset(at, border, static_cast<std::size_t>(tap));
      }
    }
    std::memset(at, 0, static_cast<std::size_t>(to + 4 * l.depth - at));
  }
}

/// The convolution as a product: rows are pixels, and columns output channels. A unit is 32 pixels.
template <class Unit, class Arch>
class TileConv {
 public:
  explicit TileConv(const QuantConvLastArgs& g)
      : g_(g),
        s_(g.geometry),
        l_(s_, g.plain_x, true),
        x_(g.plain_x ? padded_copy<Arch>(g, copies_) : plain_image<Arch>(g)),
        pixels_(s_.batch * s_.out[0] * s_.out[1]),
        plain_(l_.panels() <= 2 && x_.pixel == 4 * l_.depth && x_.pixel <= 1024 && is_identity(s_)),
        line_(plain_ ? x_.pixel : (l_.depth / step | 1) * simd::tile_bytes),
        most_(std::max<int64_t>((int64_t{1} << 19) / (rows * line_), 1)) {}

  void run() const {
    // Threads share the pixels, or where there are few, the channels as well: each share then fills its
    // lines.
    const int64_t units = (pixels_ + rows - 1) / rows, threads = threads_at_hand();
    const int64_t parts = units >= 4 * threads ? 1 : std::min(threads, l_.panels());
    const int64_t products = rows * l_.size() * 4 / parts;
    parallel_for(
        units * parts, std::max<int64_t>((int64_t{1} << 23) / products, 1), [&](int64_t begin, int64_t end) {
          for (int64_t t = begin; t < end;) {
            const int64_t part = t / units, first = t % units, last = std::min(units, first + end - t);
            Share(*this, part * l_.panels() / parts, (part + 1) * l_.panels() / parts).run(first, last);
            t += last - first;
          }
        });
  }

 private:
  static constexpr int64_t rows = tile_pixels, cols = tile_channels, step = simd::tile_rows;
  static constexpr int64_t lanes = simd::lanes<int32_t, Arch>;

  static bool is_identity(const ConvGeometry& s) {
    return sliding::SlidingWindow<Arch>(true, 2, s.in, s.out, s.kernel, s.strides, s.dilations, s.pads)
        .identity();
  }

  /// Units [begin, end) of `pixels` pixels each, whose lines begin at `lines`.
  struct Units {
    const uint8_t* lines;
    int64_t begin, end, pixels;
  };

  /// A thread's panels [first_panel, last_panel), and its memory.
  class Share {
   public:
    Share(const TileConv& c, int64_t first_panel, int64_t last_panel)
        : c_(c), first_panel_(first_panel), last_panel_(last_panel), ending_(c.g_) {}

    /// Computes units [first, last).
    void run(int64_t first, int64_t last) {
      const int64_t line = c_.line_;
      sums_ = scratch_.take<int32_t>(most_sums * rows * cols);
      if (!c_.plain_)
        own_ = scratch_.take<uint8_t>(std::min(c_.most_, last - first) * rows * line + short_tap);
      for (int64_t u = first; u < last; u += c_.most_) {
        const int64_t end = std::min(u + c_.most_, last), whole = std::min(end, c_.pixels_ / rows);
        const uint8_t* const lines = c_.plain_ ? c_.x_.data + u * rows * line : own_;
        if (!c_.plain_)
          fill_lines<Arch>(c_.s_, c_.x_, c_.l_, c_.g_.plain_x, c_.g_.x_zero, u * rows,
                           std::min(end * rows, c_.pixels_) - u * rows, own_, line);
        compute({lines, u, whole, rows});
        compute({lines + (whole - u) * rows * line, whole, end, c_.pixels_ % rows});
      }
    }

   private:
    static constexpr int64_t most_sums = 8;

    /// Computes the units in groups that keep their sums.
    void compute(const Units& units) {
      if (units.begin == units.end) return;
      Unit unit({static_cast<int>(units.pixels)});
      // The first-level cache holds a unit's pixels and a panel's weights for ten steps of K.
      const int64_t steps = c_.l_.depth / step, blocks = (steps + 9) / 10;
      for (int64_t panel = first_panel_; panel < last_panel_; ++panel)
        for (int64_t group = units.begin; group < units.end; group += most_sums)
          for (int64_t block = 0; block < blocks; ++block)
            add_block(unit, units, group, panel, block * steps / blocks, (block + 1) * steps / blocks);
    }

    /// Adds steps [k, end_k) of a panel to the sums of the group's units, and writes the results of sums that
    /// are complete.
    void add_block(Unit& unit, const Units& units, int64_t group, int64_t panel, int64_t k, int64_t end_k) {
      const Layout<Arch>& l = c_.l_;
      const QuantConvLastArgs& g = c_.g_;
      const int64_t c = panel * cols, width = std::min(l.channels - c, cols), steps = l.depth / step;
      const int32_t* const w = g.packed_w + l.channels + panel * l.panel();
      for (int64_t u = group; u < std::min(group + most_sums, units.end); ++u) {
        int32_t* const sums = end_k - k == steps ? sums_ : sums_ + (u - group) * rows * cols;
        const gemm_detail::TileSource from{
            units.lines + (u - units.begin) * rows * c_.line_ + k * simd::tile_bytes,
            c_.line_,
            simd::tile_bytes,
            w + k * step * cols,
            cols,
            step * cols};
        gemm_detail::sum_tile(unit, units.pixels, width, end_k - k, from, k == 0 ? g.packed_w + c : sums,
                              k == 0 ? 0 : cols, sums, cols);
        const int64_t to = u * rows * l.channels + c;
        if (end_k == steps)
          ending_.write(width / lanes, units.pixels, sums, cols, g.scale + c,
                        g.sum.z == nullptr ? nullptr : g.sum.z + to, g.y + to, l.channels);
      }
    }

    const TileConv& c_;
    const int64_t first_panel_, last_panel_;
    const Ending<Arch> ending_;
    Scratch scratch_;
    int32_t* sums_ = nullptr;
    uint8_t* own_ = nullptr;  // lines filled for this share
  };

  const QuantConvLastArgs& g_;
  const ConvGeometry& s_;
  const Layout<Arch> l_;
  Scratch copies_;
  const Image x_;
  const int64_t pixels_;
  // Pixels that are read once or twice serve as they lie; copies come faster from the second-level cache.
  const bool plain_;
  const int64_t line_;  // bytes from a pixel's taps to the next pixel's
  // Weights are read once for as many units as half a megabyte holds.
  const int64_t most_;
};

template <class Unit, class Arch>
void conv_by_tiles(const QuantConvLastArgs& g) {
  TileConv<Unit, Arch>(g).run();
}

}  // namespace tenon::kernels::conv_last_detail

namespace tenon::kernels {

template <class Arch>
bool fast_conv_last_impl() {
  return simd::has_dot_bytes<Arch>();
}

template <class Arch>
int64_t quant_conv_last_weight_size_impl(const ConvGeometry& g, bool plain_x) {
  return conv_last_detail::Layout<Arch>(g, plain_x, simd::has_tiles<Arch>()).size();
}

template <class Arch>
void quant_conv_last_pack_impl(const ConvGeometry& g, bool plain_x, const int8_t* w, const int32_t* bias,
                               int32_t x_zero, int32_t* packed) {
  using namespace conv_last_detail;
  pack_weights(Layout<Arch>(g, plain_x, simd::has_tiles<Arch>()), g, plain_x, w, bias, x_zero, packed);
}

template <class Arch>
void quant_conv_last_impl(const QuantConvLastArgs& g) {
  using namespace conv_last_detail;
  if (g.geometry.batch * g.geometry.out[0] * g.geometry.out[1] <= 0) return;
  if constexpr (Arch::register_bytes == 64)
    if (simd::has_tiles<Arch>()) return conv_by_tiles<simd::AmxTiles, Arch>(g);
  conv_by_words<Arch>(g);
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
