// Convolutions over blocks of channels by Winograd's F(m x m, r x r): bodies.
//
// A tile of m x m outputs of a kernel of r x r cells sees n x n inputs d, n = m + r - 1. With the weights g
// it is A^T [(G g G^T) * (B^T d B)] A: n^2 products for each pair of channels instead of m^2 r^2, and n^2
// weights in place of r^2 (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016). Each
// of the n^2 places is a product of tiles by channels and channels by output channels, which the tiles of
// cell_tile.hpp compute as pointwise convolutions. The matrices belong to n - 1 points and infinity.
//
// A convolution of stride s is a sum of s^2 convolutions without one: that of each phase, the cells of x with
// one rest modulo s in each axis, by the kernel's cells that see them. Phases are channels of an image, from
// which the tiles then work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/blocked.hpp"
#include "tenon/kernels/conv/cell_tile.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::kernels::winograd_detail {

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
using simd::batch;
using simd::lanes;

/// F(4x4, 3x3), F(3x3, 4x4) and F(2x2, 5x5). The points beside 0 and infinity are near, -near, far and -far:
/// the common 1 and 2 round three times as much. Their squares are exact, and the squares' product is 1.
template <int64_t Outputs>
struct Tiles6 {
  static constexpr int64_t outputs = Outputs, side = 6, kernel = side + 1 - outputs;
  static constexpr double near = 0.70710678118654752440, near_2 = 0.5;
  static constexpr double far = 1.41421356237309504880, far_2 = 2;

  /// B^T d of one column.
  template <class B>
  static void transform_inputs(const B (&d)[side], B (&t)[side]) {
    using T = typename B::value_type;
    const B both(T(-near_2 - far_2));
    const B even_near = simd::mul_add(B(T(-far_2)), d[2], d[4]),
            odd_near = simd::mul_add(B(T(-far_2)), d[1], d[3]);
    const B even_far = simd::mul_add(B(T(-near_2)), d[2], d[4]),
            odd_far = simd::mul_add(B(T(-near_2)), d[1], d[3]);
    t[0] = simd::mul_add(both, d[2], d[0] + d[4]);
    t[1] = simd::mul_add(B(T(near)), odd_near, even_near);
    t[2] = simd::mul_add(B(T(-near)), odd_near, even_near);
    t[3] = simd::mul_add(B(T(far)), odd_far, even_far);
    t[4] = simd::mul_add(B(T(-far)), odd_far, even_far);
    t[5] = simd::mul_add(both, d[3], d[1] + d[5]);
  }

  /// A^T m of one column: sums of the places times powers of their points, and infinity's in the last.
  template <class B>
  static void transform_sums(const B (&m)[side], B (&y)[outputs]) {
    using T = typename B::value_type;
    const B sum_near = m[1] + m[2], rest_near = m[1] - m[2], sum_far = m[3] + m[4], rest_far = m[3] - m[4];
    y[0] = m[0] + sum_near + sum_far;
    double near_power = near, far_power = far;
#pragma GCC unroll 4
    for (int64_t i = 1; i < outputs; ++i, near_power *= near, far_power *= far) {
      const B& of_near = i % 2 == 0 ? sum_near : rest_near;
      const B& of_far = i % 2 == 0 ? sum_far : rest_far;
      const B low = i + 1 < outputs ? B(T(far_power)) * of_far : simd::mul_add(B(T(far_power)), of_far, m[5]);
      y[i] = simd::mul_add(B(T(near_power)), of_near, low);
    }
  }

  /// G g of one column: the kernel as a polynomial at the points, by a factor of each.
  template <class D>
  static void transform_weights(const D (&g)[kernel], D (&u)[side]) {
    constexpr double by_near = 1 / (2 * near_2 * (near_2 - far_2)),
                     by_far = 1 / (2 * far_2 * (far_2 - near_2));
    const auto even = [&](double square) {
      D sum = g[0] + square * g[2];
      if constexpr (kernel == 5) sum += square * square * g[4];
      return sum;
    };
    const auto odd = [&](double square) {
      D sum = g[1];
      if constexpr (kernel > 3) sum += square * g[3];
      return sum;
    };
    const D even_near = even(near_2), odd_near = near * odd(near_2), even_far = even(far_2),
            odd_far = far * odd(far_2);
    u[0] = g[0];
    u[1] = (even_near + odd_near) * by_near;
    u[2] = (even_near - odd_near) * by_near;
    u[3] = (even_far + odd_far) * by_far;
    u[4] = (even_far - odd_far) * by_far;
    u[5] = g[kernel - 1];
  }
};

/// F(2x2, 3x3), of the points 0, 1, -1 and infinity.
struct Tiles4 {
  static constexpr int64_t outputs = 2, side = 4, kernel = 3;

  template <class B>
  static void transform_inputs(const B (&d)[side], B (&t)[side]) {
    t[0] = d[0] - d[2];
    t[1] = d[1] + d[2];
    t[2] = d[2] - d[1];
    t[3] = d[3] - d[1];
  }

  template <class B>
  static void transform_sums(const B (&m)[side], B (&y)[outputs]) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] + m[3];
  }

  template <class D>
  static void transform_weights(const D (&g)[kernel], D (&u)[side]) {
    u[0] = g[0];
    u[1] = (g[0] + g[2] + g[1]) / 2;
    u[2] = (g[0] + g[2] - g[1]) / 2;
    u[3] = g[2];
  }
};

/// Calls f with the form whose tiles have so many outputs on a side, for a kernel of so many cells.
template <class F>
void with_tiles(int64_t outputs, int64_t kernel, F f) {
  if (kernel == 3 && outputs == 2) f(Tiles4{});
  else if (kernel == 3) f(Tiles6<4>{});
  else if (kernel == 4) f(Tiles6<3>{});
  else f(Tiles6<2>{});
}

/// Numbers of half a register, in a register of doubles.
template <class Arch, class T>
struct Wide {
  static constexpr int count = lanes<T, Arch> / 2;
  using Narrow [[gnu::vector_size(count * sizeof(T))]] = T;
  using Type [[gnu::vector_size(count * sizeof(double))]] = double;
  static Type load(const T* from) {
    Narrow x;
    std::memcpy(&x, from, sizeof x);
    return __builtin_convertvector(x, Type);
  }
  static void store(T* to, const Type& wide) {
    const Narrow x = __builtin_convertvector(wide, Narrow);
    std::memcpy(to, &x, sizeof x);
  }
};

/// G g G^T of the weights of `count` outputs side by side, a row for each place. The next place's row of u is
/// `row` behind.
template <class Arch, class Tiles, class T>
inline void transform_weights(const T* g, int64_t count, T* u, int64_t row) {
  using W = Wide<Arch, T>;
  constexpr int side = Tiles::side, kernel = Tiles::kernel;
  using D = typename W::Type;
  for (int64_t i = 0; i < count; i += W::count) {
    D half[kernel][side];
    for (int k = 0; k < kernel; ++k) {
      D column[kernel];
      for (int r = 0; r < kernel; ++r) column[r] = W::load(g + (r * kernel + k) * count + i);
      Tiles::transform_weights(column, half[k]);
    }
    for (int r = 0; r < side; ++r) {
      D line[kernel], places[side];
      for (int k = 0; k < kernel; ++k) line[k] = half[k][r];
      Tiles::transform_weights(line, places);
      for (int k = 0; k < side; ++k) W::store(u + (r * side + k) * row + i, places[k]);
    }
  }
}

template <class T, class Arch, class Tiles>
struct Plan {
  using B = batch<T, Arch>;
  static constexpr int L = lanes<T, Arch>;
  static constexpr int64_t side = Tiles::side, outputs = Tiles::outputs, places = side * side;

  const BlockedConvArgs<T>& args;
  const ConvGeometry& g;
  int64_t in_channels, blocks, vectors;  ///< of a group: input channels, and blocks of these and of outputs
  int64_t tiles_across, tiles;           ///< of an image
  int64_t band, bands, shares = 1;  ///< tiles of a task, tasks of an item, and parts of the output channels

  explicit Plan(const BlockedConvArgs<T>& a) : args(a), g(a.geometry) {
    in_channels = g.in_channels / g.groups;
    blocks = up(in_channels, L), vectors = up(g.out_channels / g.groups, L);
    tiles_across = up(g.out[1], outputs);
    tiles = tiles_across * up(g.out[0], outputs);
    // The transformed inputs of a band should stay in the second-level cache, but the weights are read once
    // for each band.
    constexpr int64_t most = most_cells<Arch>(2), bytes = 1 << 20;
    const int64_t fitting = bytes / (places * blocks * L * static_cast<int64_t>(sizeof(T)));
    band = std::min(std::clamp(fitting / most * most, 2 * most, 4 * most), tiles);
    bands = up(tiles, band);
    const int64_t items = g.batch * g.groups;
    const double products = static_cast<double>(items * tiles * places) * static_cast<double>(in_channels) *
                            static_cast<double>(vectors * L);
    const int64_t tasks = up(tasks_for<Arch>(products, items * bands), items);  // of an item
    if (tasks > bands) {
      // Each share transforms the inputs for itself.
      if (vectors * L >= 2 * tiles)
        shares = std::min(up(std::min(tasks, threads_at_hand()), bands), parts_of(vectors));
      else band = up(tiles, up(tiles, std::max(up(tiles, tasks), std::min(most, tiles))));
      bands = up(tiles, band);
    }
  }

  /// Computes parts [part, part_end) of the output channels for tiles [first, last) of an item: a group of an
  /// image.
  void run(int64_t item, int64_t first, int64_t last, int64_t part, int64_t part_end) const {
    const int64_t count = last - first;
    Scratch scratch;
    T* inputs = scratch.take<T>(places * blocks * count * L);
    T* sums = scratch.take<T>(places * 3 * count * L);
    T* tile = scratch.take<T>(outputs * outputs * L);
    for (int64_t b = 0; b < blocks; ++b)
      for (int64_t t = first; t < last; ++t)
        take_tile(args.x + (item * blocks + b) * g.in[0] * g.in[1] * L, t,
                  inputs + (b * count + t - first) * L, blocks * count * L);
    constexpr int64_t here = 0;
    Reach reach{blocks, count * L, in_channels - (blocks - 1) * L, 1, &here};
    const int64_t group_vector = item % g.groups * vectors;
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
            give_tile(sums + (v * count + t - first) * L, V * count * L, t, group_vector + vector + v,
                      (item * vectors + vector + v) * g.out[0] * g.out[1] * L, tile);
      });
    }
  }

 private:
  /// Transforms the inputs of tile t; results are `step` apart.
  void take_tile(const T* x, int64_t t, T* to, int64_t step) const {
    const int64_t row = t / tiles_across * outputs - g.pads[0], col = t % tiles_across * outputs - g.pads[1];
    const bool inside = row >= 0 && col >= 0 && row + side <= g.in[0] && col + side <= g.in[1];
    B half[side][side];  // B^T d: [column][row]
    for (int64_t c = 0; c < side; ++c) {
      B d[side];
      if (inside) {
        const T* from = x + (row * g.in[1] + col + c) * L;
#pragma GCC unroll 6
        for (int64_t r = 0; r < side; ++r) d[r] = simd::loadu<Arch>(from + r * g.in[1] * L);
      } else {
        const bool column = col + c >= 0 && col + c < g.in[1];
        for (int64_t r = 0; r < side; ++r)
          d[r] = column && row + r >= 0 && row + r < g.in[0]
                     ? B(simd::loadu<Arch>(x + ((row + r) * g.in[1] + col + c) * L))
                     : B(T{0});
      }
      Tiles::transform_inputs(d, half[c]);
    }
    for (int64_t r = 0; r < side; ++r) {
      B d[side], u[side];
#pragma GCC unroll 6
      for (int64_t c = 0; c < side; ++c) d[c] = half[c][r];
      Tiles::transform_inputs(d, u);
#pragma GCC unroll 6
      for (int64_t c = 0; c < side; ++c) simd::storeu(to + (r * side + c) * step, u[c]);
    }
  }

  /// Transforms the sums of tile t, which are `step` apart, and finishes a vector of its outputs, which lie
  /// in `tile` for the activation.
  void give_tile(const T* sums, int64_t step, int64_t t, int64_t vector, int64_t plane, T* tile) const {
    const int64_t row = t / tiles_across * outputs, col = t % tiles_across * outputs;
    const int64_t rows = std::min(outputs, g.out[0] - row), cols = std::min(outputs, g.out[1] - col);
    B half[side][outputs];  // A^T m: [column][row]
    for (int64_t c = 0; c < side; ++c) {
      B m[side];
#pragma GCC unroll 6
      for (int64_t r = 0; r < side; ++r) m[r] = simd::loadu<Arch>(sums + (r * side + c) * step);
      Tiles::transform_sums(m, half[c]);
    }
    const B bias = args.bias == nullptr ? B(T{0}) : B(simd::loadu<Arch>(args.bias + vector * L));
    const B lo(args.lo), hi(args.hi);
    for (int64_t r = 0; r < rows; ++r) {
      B m[side], y[outputs];
#pragma GCC unroll 6
      for (int64_t c = 0; c < side; ++c) m[c] = half[c][r];
      Tiles::transform_sums(m, y);
      const int64_t at = plane + ((row + r) * g.out[1] + col) * L;
      T* to = args.activation ? tile + r * cols * L : args.y + at;
      for (int64_t c = 0; c < cols; ++c) {
        B value = y[c] + bias;
        if (args.add != nullptr) value = value + simd::loadu<Arch>(args.add + at + c * L);
        simd::storeu(to + c * L, simd::bound(value, lo, hi));
      }
    }
    if (!args.activation) return;
    args.activation(tile, rows * cols * L);
    for (int64_t r = 0; r < rows; ++r)
      std::copy_n(tile + r * cols * L, cols * L, args.y + plane + ((row + r) * g.out[1] + col) * L);
  }
};

}  // namespace tenon::kernels::winograd_detail

namespace tenon::kernels {

namespace winograd_detail {

/// The weights (Cout, Cin, kernel) of the phases' channels: (Cout, Cin, stride, stride, kernel of a phase).
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
  // Input channels that are written together: lines of 36 places far apart share a cache's sets.
  constexpr int64_t L = lanes<T, Arch>, together = 4;
  const int64_t in = phase_channels(g), out = g.out_channels / g.groups, vectors = up(out, L);
  Scratch scratch;
  const T* data = w.data;
  if (g.strides[0] > 1) {
    T* parted = scratch.take<T>(g.out_channels * in * phase_kernel(g) * phase_kernel(g));
    part_weights<Arch>(g, data, parted);
    data = parted;
  }
  with_tiles(outputs, phase_kernel(g), [&]<class Tiles>(Tiles) {
    constexpr int64_t places = Tiles::side * Tiles::side, taps = Tiles::kernel * Tiles::kernel;
    parallel_for(g.groups * parts_of(vectors), 1, [&](int64_t begin, int64_t end) {
      alignas(64) T turned[together * taps * 3 * L];  // [channel][row][column][output]
      alignas(64) T all[places * together * 3 * L];
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
            transform_weights<Arch, Tiles>(turned + c * taps * count, count, all + c * count, each);
          for (int64_t k = 0; k < places; ++k)
            std::copy_n(all + k * each, each,
                        packed + (((group * places + k) * vectors + vector) * in + block * (count / L)) * L);
        }
      }
    });
  });
}

namespace winograd_detail {

/// A group after another from planes to planes. Its blocks stay in the second-level cache, while those of all
/// groups would go through memory twice.
template <class Arch, class Tiles, class T>
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
    const Plan<T, Arch, Tiles> plan(one);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t group = item % g.groups;
      one.packed_w = a.packed_w + group * plan.places * vectors * L * in;
      one.bias = a.bias == nullptr ? nullptr : a.bias + group * out;
      to_blocks_impl<Arch>(1, in, in_cells, a.x + item * in * in_cells, x);
      for (int64_t first = 0; first < plan.tiles; first += plan.band)
        plan.run(0, first, std::min(first + plan.band, plan.tiles), 0, parts_of(vectors));
      from_blocks_impl<Arch>(1, out, out_cells, one.y, a.y + item * out * out_cells);
    }
  });
}

/// From blocks to blocks.
template <class Arch, class Tiles, class T>
void run_blocks(const BlockedConvArgs<T>& a) {
  const ConvGeometry& g = a.geometry;
  const Plan<T, Arch, Tiles> plan(a);
  const int64_t parts = parts_of(plan.vectors);
  parallel_for(g.batch * g.groups * plan.bands * plan.shares, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task / plan.shares % plan.bands * plan.band, share = task % plan.shares;
      plan.run(task / plan.shares / plan.bands, first, std::min(first + plan.band, plan.tiles),
               share_begin(share, plan.shares, parts), share_begin(share + 1, plan.shares, parts));
    }
  });
}

/// Lays a row of cells of the phases out in blocks: channel (c, i, j) of a cell is the place (i, j) of the
/// `stride` x `stride` cells of plane c that it stands for. Blocks are `block_step` apart.
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

/// From planes to blocks, of a convolution with a stride: an image after another.
template <class Arch, class Tiles, class T>
void run_phases(const BlockedConvArgs<T>& a) {
  const ConvGeometry& g = a.geometry;
  const int64_t L = lanes<T, Arch>, channels = phase_channels(g);
  const int64_t in[2] = {g.out[0] + Tiles::kernel - 1, g.out[1] + Tiles::kernel - 1};
  constexpr int64_t kernel[2] = {Tiles::kernel, Tiles::kernel}, ones[2] = {1, 1}, zeros[2] = {0, 0};
  Scratch scratch;
  T* phases = scratch.take<T>(up(channels, L) * in[0] * in[1] * L);
  BlockedConvArgs<T> one = a;
  one.geometry = {2, 1, 1, channels, g.out_channels, in, g.out, kernel, ones, ones, zeros};
  one.plain_x = false, one.x = phases;
  const int64_t image = up(g.out_channels, L) * g.out[0] * g.out[1] * L;
  for (int64_t n = 0; n < g.batch; ++n, one.y += image) {
    const T* x = a.x + n * g.in_channels * g.in[0] * g.in[1];
    parallel_for(in[0], up(1 << 14, in[1] * channels), [&](int64_t row, int64_t end) {
      for (; row < end; ++row) {
        T* y = phases + row * in[1] * L;
        if (g.strides[0] == 2) lay_phases<2, Arch>(g, x, row, in[1], y, in[0] * in[1] * L);
        else lay_phases<4, Arch>(g, x, row, in[1], y, in[0] * in[1] * L);
      }
    });
    run_blocks<Arch, Tiles>(one);
    if (one.add != nullptr) one.add += image;
  }
}

}  // namespace winograd_detail

template <class Arch, class T>
void winograd_conv_impl(const BlockedConvArgs<T>& a) {
  using namespace winograd_detail;
  const ConvGeometry& g = a.geometry;
  if (g.batch <= 0 || g.out_channels <= 0 || g.out[0] <= 0 || g.out[1] <= 0) return;
  with_tiles(a.winograd, phase_kernel(g), [&]<class Tiles>(Tiles) {
    if (g.strides[0] > 1) run_phases<Arch, Tiles>(a);
    else if (a.plain_x) run_planes<Arch, Tiles>(a);
    else run_blocks<Arch, Tiles>(a);
  });
}

}  // namespace tenon::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::kernels {

template void winograd_conv_impl<TENON_INSTANTIATE, float>(const BlockedConvArgs<float>&);
template void winograd_pack_weights_impl<TENON_INSTANTIATE, float>(const ConvGeometry&, int,
                                                                   const ConvWeights<float>&, float*);

}  // namespace tenon::kernels
#endif
