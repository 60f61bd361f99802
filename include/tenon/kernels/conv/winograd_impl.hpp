// Convolutions over blocks of channels by Winograd's F(m x m, r x r): bodies. Each of a tile's places
// (winograd_tiles.hpp) is a product of tiles by channels and channels by output channels, computed by the
// tiles of cell_tile.hpp as pointwise convolutions.
//
// A convolution of stride s is a sum of s^2 convolutions of stride 1, one for each phase (the cells of x with
// equal remainders modulo s on each axis) and the kernel cells that see it. Phases are laid out as channels
// of an image, on which the tiles then work.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/blocked.hpp"
#include "tenon/kernels/conv/cell_tile.hpp"
#include "tenon/kernels/conv/winograd_tiles.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels::winograd_detail {

using cell_detail::CellEnd;
using cell_detail::compute_row;
using cell_detail::most_cells;
using cell_detail::part_begin;
using cell_detail::parts_of;
using cell_detail::Reach;
using cell_detail::share_begin;
using cell_detail::tasks_for;
using cell_detail::turn_weights;
using cell_detail::up;
using cell_detail::vectors_at;
using cell_detail::with_vectors;

template <class T, class Arch>
struct Plan {
  static constexpr int L = lanes<T, Arch>;

  const BlockedConvArgs<T>& args;
  const ConvGeometry& g;
  const Form<T, Arch> form;
  int64_t in_channels, blocks, vectors;  ///< of a group: input channels, their blocks, and vectors of outputs
  int64_t tiles_across, tiles;           ///< of an image
  int64_t all_tiles;                     ///< of all images, which share the weights that are read
  int64_t band, bands, shares = 1;  ///< tiles of a task, tasks of a group, and parts of the output channels

  explicit Plan(const BlockedConvArgs<T>& a)
      : args(a), g(a.geometry), form(form_of<T, Arch>(phase_kernel(g), a.winograd)) {
    in_channels = g.in_channels / g.groups;
    blocks = up(in_channels, L), vectors = up(g.out_channels / g.groups, L);
    tiles_across = up(g.out[1], form.outputs);
    tiles = tiles_across * up(g.out[0], form.outputs);
    all_tiles = g.batch * tiles;
    // The transformed inputs of a band should stay in the second-level cache, but the weights are read once
    // per band.
    constexpr int64_t most = most_cells<Arch>(2), bytes = cache_bytes::l2;
    const int64_t places = form.places();
    const int64_t fitting = bytes / (places * blocks * L * static_cast<int64_t>(sizeof(T)));
    band = std::min(std::clamp(fitting / most * most, 2 * most, 4 * most), all_tiles);
    bands = up(all_tiles, band);
    const double products = static_cast<double>(g.groups * all_tiles * places) *
                            static_cast<double>(in_channels) * static_cast<double>(vectors * L);
    const int64_t tasks = up(tasks_for<Arch>(products, g.groups * bands), g.groups);  // of a group
    if (tasks > bands) {
      // Each share transforms the inputs for itself.
      if (vectors * L >= 2 * all_tiles)
        shares = std::min(up(std::min(tasks, threads_at_hand()), bands), parts_of(vectors));
      else band = up(all_tiles, up(all_tiles, std::max(up(all_tiles, tasks), std::min(most, all_tiles))));
      bands = up(all_tiles, band);
    }
  }

  /// Computes parts [part, part_end) of a group's output channels for tiles [first, last) of all images.
  void run(int64_t group, int64_t first, int64_t last, int64_t part, int64_t part_end) const {
    const int64_t count = last - first, places = form.places();
    Scratch scratch;
    T* inputs = scratch.take<T>(places * blocks * count * L);
    T* sums = scratch.take<T>(places * 3 * count * L);
    T* space = scratch.take<T>(form.outputs * form.outputs * L);
    for (int64_t b = 0; b < blocks; ++b)
      for (int64_t t = first; t < last; ++t)
        form.take(g, args.x + (item_of(t, group) * blocks + b) * g.in[0] * g.in[1] * L, row_of(t),
                  column_of(t), inputs + (b * count + t - first) * L, blocks * count * L);
    constexpr int64_t here = 0;
    Reach reach{blocks, count * L, in_channels - (blocks - 1) * L, 1, &here};
    const int64_t group_vector = group * vectors;
    const T* weights = args.packed_w + group_vector * L * in_channels * places;
    for (int64_t p = part; p < part_end; ++p) {
      const int64_t vector = part_begin(p, vectors);
      with_vectors<Arch>(vectors_at(vector, vectors), [&]<int V>(std::integral_constant<int, V>) {
        CellEnd<T> end{};
        end.y_block = count * L, end.begins = true;
        for (int64_t k = 0; k < places; ++k) {
          end.y = sums + k * V * count * L;
          const int64_t next = k + 1 < places ? (k + 1) * vectors + vector : part_begin(p + 1, vectors);
          reach.ahead = k + 1 < places || p + 1 < part_end
                            ? reinterpret_cast<const char*>(weights + next * L * in_channels)
                            : nullptr;
          reach.ahead_bytes = V * L * in_channels * static_cast<int64_t>(sizeof(T));
          compute_row<T, Arch, L, V>(count, reach, inputs + k * blocks * count * L,
                                     weights + (k * vectors + vector) * L * in_channels, end);
        }
        for (int v = 0; v < V; ++v)
          for (int64_t t = first; t < last; ++t)
            form.give(sums + (v * count + t - first) * L, V * count * L,
                      end_of(t, group_vector + vector + v, item_of(t, group) * vectors + vector + v, space));
      });
    }
  }

 private:
  /// The place of tile t's image among the groups of all images.
  int64_t item_of(int64_t t, int64_t group) const { return t / tiles * g.groups + group; }
  /// The first output of tile t.
  int64_t row_of(int64_t t) const { return t % tiles / tiles_across * form.outputs; }
  int64_t column_of(int64_t t) const { return t % tiles_across * form.outputs; }
  /// The output end of tile t in a vector of y; `of_bias` is the vector's index in an image.
  TileEnd<T> end_of(int64_t t, int64_t of_bias, int64_t of_y, T* space) const {
    const int64_t row = row_of(t), col = column_of(t), at = ((of_y * g.out[0] + row) * g.out[1] + col) * L;
    return {.rows = std::min(form.outputs, g.out[0] - row),
            .cols = std::min(form.outputs, g.out[1] - col),
            .row = g.out[1] * L,
            .y = args.y + at,
            .add = args.add == nullptr ? nullptr : args.add + at,
            .bias = args.bias == nullptr ? nullptr : args.bias + of_bias * L,
            .lo = args.lo,
            .hi = args.hi,
            .activation = args.activation,
            .space = space};
  }
};

}  // namespace tenon::TENON_ABI::kernels::winograd_detail

namespace tenon::TENON_ABI::kernels {

namespace winograd_detail {

/// The weights (Cout, Cin, kernel) for the phases' channels: (Cout, Cin, stride, stride, kernel of a phase).
template <class Arch, class T>
void part_weights(const ConvGeometry& g, const T* w, T* to) {
  const int64_t stride = g.strides[0], kernel = phase_kernel(g);
  for (int64_t plane = 0; plane < g.out_channels * g.in_channels; ++plane, w += g.kernel[0] * g.kernel[1])
    for (int64_t phase = 0; phase < stride * stride; ++phase)
      for (int64_t k = 0; k < kernel * kernel; ++k) {
        const int64_t row = k / kernel * stride + phase / stride, col = k % kernel * stride + phase % stride;
        const bool inside = row < g.kernel[0] && col < g.kernel[1];
        *to++ = inside ? simd::element<Arch>(w + row * g.kernel[1] + col) : T{0};
      }
}

}  // namespace winograd_detail

template <class Arch, class T>
void winograd_pack_weights_impl(const ConvGeometry& g, int outputs, const ConvWeights<T>& w, T* packed) {
  using namespace winograd_detail;
  // Input channels that are written together: lines of 36 distant places share a cache's sets.
  constexpr int64_t L = lanes<T, Arch>, together = 4;
  const int64_t in = phase_channels(g), out = g.out_channels / g.groups, vectors = up(out, L);
  Scratch scratch;
  const T* data = w.data;
  if (g.strides[0] > 1) {
    T* parted = scratch.take<T>(g.out_channels * in * phase_kernel(g) * phase_kernel(g));
    part_weights<Arch>(g, data, parted);
    data = parted;
  }
  const Form<T, Arch> form = form_of<T, Arch>(phase_kernel(g), outputs);
  const int64_t places = form.places(), taps = form.kernel() * form.kernel();
  parallel_for(g.groups * parts_of(vectors), 1, [&](int64_t begin, int64_t end) {
    Scratch of_thread;
    T* turned = of_thread.take<T>(together * taps * 3 * L);  // [channel][row][column][output]
    T* all = of_thread.take<T>(places * together * 3 * L);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t group = task / parts_of(vectors);
      const int64_t vector = part_begin(task % parts_of(vectors), vectors),
                    count = vectors_at(vector, vectors) * L;
      const int64_t present = std::min(count, out - vector * L), first = group * out + vector * L;
      for (int64_t block = 0; block < in; block += together) {
        const int64_t channels = std::min(together, in - block), each = channels * count;
        turn_weights<Arch>(data + (first * in + block) * taps, w.factors_of(first), in * taps,
                           channels * taps, present, count, turned);
        for (int64_t c = 0; c < channels; ++c)
          form.weights(turned + c * taps * count, count, all + c * count, each);
        for (int64_t k = 0; k < places; ++k)
          std::copy_n(all + k * each, each,
                      packed + (((group * places + k) * vectors + vector) * in + block * (count / L)) * L);
      }
    }
  });
}

namespace winograd_detail {

/// Group by group from planes to planes. The blocks of one group stay in the second-level cache, whereas
/// the blocks of all groups would pass through memory twice.
template <class Arch, class T>
void run_planes(const BlockedConvArgs<T>& a) {
  const ConvGeometry& g = a.geometry;
  const int64_t in = g.in_channels / g.groups, out = g.out_channels / g.groups;
  const int64_t in_cells = g.in[0] * g.in[1], out_cells = g.out[0] * g.out[1];
  constexpr int64_t L = lanes<T, Arch>;
  const int64_t vectors = up(out, L);
  parallel_for(g.batch * g.groups, 1, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    T* x = scratch.take<T>(up(in, L) * L * in_cells);
    BlockedConvArgs<T> one = a;
    one.geometry.batch = one.geometry.groups = 1;
    one.geometry.in_channels = in, one.geometry.out_channels = out;
    one.x = x, one.y = scratch.take<T>(vectors * L * out_cells);
    const Plan<T, Arch> plan(one);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t group = item % g.groups;
      one.packed_w = a.packed_w + group * plan.form.places() * vectors * L * in;
      one.bias = a.bias == nullptr ? nullptr : a.bias + group * out;
      to_blocks_impl<Arch>(1, in, in_cells, a.x + item * in * in_cells, x);
      for (int64_t first = 0; first < plan.tiles; first += plan.band)
        plan.run(0, first, std::min(first + plan.band, plan.tiles), 0, parts_of(vectors));
      from_blocks_impl<Arch>(1, out, out_cells, one.y, a.y + item * out * out_cells);
    }
  });
}

/// From blocks to blocks.
template <class Arch, class T>
void run_blocks(const BlockedConvArgs<T>& a) {
  const ConvGeometry& g = a.geometry;
  const Plan<T, Arch> plan(a);
  const int64_t parts = parts_of(plan.vectors);
  parallel_for(g.groups * plan.bands * plan.shares, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task / plan.shares % plan.bands * plan.band, share = task % plan.shares;
      plan.run(task / plan.shares / plan.bands, first, std::min(first + plan.band, plan.all_tiles),
               share_begin(share, plan.shares, parts), share_begin(share + 1, plan.shares, parts));
    }
  });
}

/// Lays out a row of cells of the phases in blocks: channel (c, i, j) of a cell is element (i, j) of its
/// `stride` x `stride` cells in plane c. Blocks are `block_step` apart.
template <int64_t stride, class Arch, class T>
void lay_phases(const ConvGeometry& g, const T* x, int64_t row, int64_t cols, T* y, int64_t block_step) {
  constexpr int64_t L = lanes<T, Arch>;
  for (int64_t b = 0; b < up(phase_channels(g), L); ++b) std::fill_n(y + b * block_step, cols * L, T{0});
  // Cells whose columns all are inside of the image.
  const int64_t first = -g.pads[1], width = g.in[1];
  const int64_t begin = std::clamp<int64_t>(up(-first, stride), 0, cols),
                end = std::clamp((width - first) / stride, begin, cols);
  for (int64_t c = 0; c < g.in_channels; ++c)
    for (int64_t i = 0; i < stride; ++i) {
      const int64_t from = row * stride + i - g.pads[0], channel = (c * stride + i) * stride;
      if (from < 0 || from >= g.in[0]) continue;
      const T* cells = x + (c * g.in[0] + from) * width;
      T* to = y + channel / L * block_step + channel % L;
      const auto at_border = [&](int64_t col) {
        for (int64_t k = 0; k < stride; ++k)
          if (const int64_t at = first + col * stride + k; at >= 0 && at < width) to[col * L + k] = cells[at];
      };
      for (int64_t col = 0; col < begin; ++col) at_border(col);
      for (int64_t col = begin; col < end; ++col)
        std::copy_n(cells + first + col * stride, stride, to + col * L);
      for (int64_t col = end; col < cols; ++col) at_border(col);
    }
}

/// From planes to blocks for a convolution with a stride: image by image.
template <class Arch, class T>
void run_phases(const BlockedConvArgs<T>& a) {
  const ConvGeometry& g = a.geometry;
  const int64_t L = lanes<T, Arch>, channels = phase_channels(g);
  const int64_t side = phase_kernel(g), kernel[2] = {side, side};
  const int64_t in[2] = {g.out[0] + side - 1, g.out[1] + side - 1};
  constexpr int64_t ones[2] = {1, 1}, zeros[2] = {0, 0};
  Scratch scratch;
  T* phases = scratch.take<T>(up(channels, L) * in[0] * in[1] * L);
  BlockedConvArgs<T> one = a;
  one.geometry = {2, 1, 1, channels, g.out_channels, in, g.out, kernel, ones, ones, zeros};
  one.plain_x = false, one.x = phases;
  const int64_t image = up(g.out_channels, L) * g.out[0] * g.out[1] * L;
  for (int64_t n = 0; n < g.batch; ++n, one.y += image) {
    const T* x = a.x + n * g.in_channels * g.in[0] * g.in[1];
    parallel_for(in[0], up(task_work::moderate, in[1] * channels), [&](int64_t row, int64_t end) {
      for (; row < end; ++row) {
        T* y = phases + row * in[1] * L;
        if (g.strides[0] == 2) lay_phases<2, Arch>(g, x, row, in[1], y, in[0] * in[1] * L);
        else lay_phases<4, Arch>(g, x, row, in[1], y, in[0] * in[1] * L);
      }
    });
    run_blocks<Arch>(one);
    if (one.add != nullptr) one.add += image;
  }
}

}  // namespace winograd_detail

template <class Arch, class T>
void winograd_conv_impl(const BlockedConvArgs<T>& a) {
  using namespace winograd_detail;
  const ConvGeometry& g = a.geometry;
  if (g.batch <= 0 || g.out_channels <= 0 || g.out[0] <= 0 || g.out[1] <= 0) return;
  if (g.strides[0] > 1) run_phases<Arch>(a);
  else if (a.plain_x) run_planes<Arch>(a);
  else run_blocks<Arch>(a);
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

template void winograd_conv_impl<TENON_INSTANTIATE, float>(const BlockedConvArgs<float>&);
template void winograd_pack_weights_impl<TENON_INSTANTIATE, float>(const ConvGeometry&, int,
                                                                   const ConvWeights<float>&, float*);

}  // namespace tenon::TENON_ABI::kernels
#endif
