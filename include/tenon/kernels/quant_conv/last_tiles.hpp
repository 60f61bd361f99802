// Convolutions of bytes over tensors of (N, H, W, C): products by tile registers. Taps of pixels are copied
// to lines, the rows of a matrix, unless they lie so already.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/sliding.hpp"
#include "tenon/kernels/gemm/byte_tiles.hpp"
#include "tenon/kernels/quant_conv/last_operands.hpp"
#include "tenon/kernels/quant_conv/last_weights.hpp"
#include "tenon/simd/copy.hpp"

namespace tenon::TENON_ABI::kernels::conv_last_detail {

/// Copies the taps of `count` pixels, one after the other and then zeros up to whole registers, to lines
/// `line` apart. Up to short_tap bytes past the last line may be written.
template <class Arch>
void fill_lines(const ConvGeometry& g, const Image& image, const Layout<Arch>& l, bool copied, int32_t border,
                int64_t first, int64_t count, uint8_t* to, int64_t line) {
  const int64_t wide = l.taps / g.kernel[0], tap = 4 * l.words;
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
        x_(g.plain_x ? padded_copy<Quads, Arch>(g, copies_) : plain_image<Arch>(g)),
        pixels_(s_.batch * s_.out[0] * s_.out[1]),
        plain_(l_.panels() <= 2 && x_.pixel == 4 * l_.depth && x_.pixel <= 1024 && is_identity(s_)),
        line_(plain_ ? x_.pixel : (l_.depth / step | 1) * simd::tile_bytes),
        most_(std::max<int64_t>(cache_bytes::l2 / 2 / (rows * line_), 1)) {}

  void run() const {
    // Threads share the pixels, or where there are few, the channels as well: each share then fills its
    // lines.
    const int64_t units = (pixels_ + rows - 1) / rows, threads = threads_at_hand();
    const int64_t parts = units >= 4 * threads ? 1 : std::min(threads, l_.panels());
    const int64_t products = rows * l_.size() * 4 / parts;
    parallel_for(
        units * parts, std::max<int64_t>(8 * task_work::byte_products / products, 1),
        [&](int64_t begin, int64_t end) {
          for (int64_t t = begin; t < end;) {
            const int64_t part = t / units, first = t % units, last = std::min(units, first + end - t);
            Share(*this, part * l_.panels() / parts, (part + 1) * l_.panels() / parts).run(first, last);
            t += last - first;
          }
        });
  }

 private:
  static constexpr int64_t rows = tile_pixels, cols = tile_channels, step = simd::tile_rows;

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
      const int64_t c = panel * cols, channels = std::min(l.channels - c, cols), steps = l.depth / step;
      const int64_t width = whole_vectors<Arch>(channels);
      const int32_t* const w = g.packed_w + l.starts() + panel * l.panel();
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
          ending_.write(channels, units.pixels, sums, cols, g.scale + c,
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
  // Weights are read once for as many units as half of the second-level cache holds.
  const int64_t most_;
};

template <class Unit, class Arch>
void conv_by_tiles(const QuantConvLastArgs& g) {
  TileConv<Unit, Arch>(g).run();
}

}  // namespace tenon::TENON_ABI::kernels::conv_last_detail
