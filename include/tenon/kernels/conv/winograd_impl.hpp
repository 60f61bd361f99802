// Convolutions of 3 x 3 cells over blocks of channels by Winograd's F(4x4, 3x3) and F(2x2, 3x3): bodies.
//
// A tile of 4 x 4 outputs sees 6 x 6 inputs d. With the weights g it is A^T [(G g G^T) * (B^T d B)] A: 36
// products for each pair of channels instead of 144. Each of the 36 places is a product of tiles by channels
// and channels by output channels, which the tiles of cell_tile.hpp compute as pointwise convolutions. Tiles
// of 2 x 2 outputs take 16 products instead of 36, and 16 weights in place of 36 (Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2016). The matrices belong to points, of which 0 and
// infinity are two.
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

/// F(4x4, 3x3). The points beside 0 and infinity are near, -near, far and -far: the common 1 and 2 round
/// three times as much. Their squares are exact, and the squares' product is 1.
struct Tiles4 {
  static constexpr int64_t outputs = 4, side = 6;
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

  /// A^T m of one column.
  template <class B>
  static void transform_sums(const B (&m)[side], B (&y)[outputs]) {
    using T = typename B::value_type;
    const B sum_near = m[1] + m[2], rest_near = m[1] - m[2], sum_far = m[3] + m[4], rest_far = m[3] - m[4];
    y[0] = m[0] + sum_near + sum_far;
    y[1] = simd::mul_add(B(T(near)), rest_near, B(T(far)) * rest_far);
    y[2] = simd::mul_add(B(T(near_2)), sum_near, B(T(far_2)) * sum_far);
    y[3] = simd::mul_add(B(T(near * near_2)), rest_near, simd::mul_add(B(T(far * far_2)), rest_far, m[5]));
  }

  /// G g of one column.
  template <class D>
  static void transform_weights(const D& g0, const D& g1, const D& g2, D (&u)[side]) {
    constexpr double by_near = 1 / (2 * near_2 * (near_2 - far_2)),
                     by_far = 1 / (2 * far_2 * (far_2 - near_2));
    const D even_near = g0 + near_2 * g2, odd_near = near * g1, even_far = g0 + far_2 * g2,
            odd_far = far * g1;
    u[0] = g0;
    u[1] = (even_near + odd_near) * by_near;
    u[2] = (even_near - odd_near) * by_near;
    u[3] = (even_far + odd_far) * by_far;
    u[4] = (even_far - odd_far) * by_far;
    u[5] = g2;
  }
};

/// F(2x2, 3x3), of the points 0, 1, -1 and infinity.
struct Tiles2 {
  static constexpr int64_t outputs = 2, side = 4;

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
  static void transform_weights(const D& g0, const D& g1, const D& g2, D (&u)[side]) {
    u[0] = g0;
    u[1] = (g0 + g2 + g1) / 2;
    u[2] = (g0 + g2 - g1) / 2;
    u[3] = g2;
  }
};

/// Calls f with the form whose tiles have so many outputs on a side.
template <class F>
void with_tiles(int outputs, F f) {
  if (outputs == Tiles2::outputs) f(Tiles2{});
  else f(Tiles4{});
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
  constexpr int side = Tiles::side;
  using D = typename W::Type;
  for (int64_t i = 0; i < count; i += W::count) {
    D half[3][side];
    for (int k = 0; k < 3; ++k)
      Tiles::transform_weights(W::load(g + k * count + i), W::load(g + (3 + k) * count + i),
                               W::load(g + (6 + k) * count + i), half[k]);
    for (int r = 0; r < side; ++r) {
      D line[side];
      Tiles::transform_weights(half[0][r], half[1][r], half[2][r], line);
      for (int k = 0; k < side; ++k) W::store(u + (r * side + k) * row + i, line[k]);
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

template <class Arch, class T>
void winograd_pack_weights_impl(const ConvGeometry& g, int outputs, const ConvWeights<T>& w, T* packed) {
  using namespace winograd_detail;
  // Input channels that are written together: lines of 36 places far apart share a cache's sets.
  constexpr int64_t L = lanes<T, Arch>, together = 4;
  const int64_t in = g.in_channels / g.groups, out = g.out_channels / g.groups, vectors = up(out, L);
  with_tiles(outputs, [&]<class Tiles>(Tiles) {
    constexpr int64_t places = Tiles::side * Tiles::side;
    parallel_for(g.groups * parts_of(vectors), 1, [&](int64_t begin, int64_t end) {
      alignas(64) T turned[together * 9 * 3 * L];  // [channel][row][column][output]
      alignas(64) T all[places * together * 3 * L];
      for (int64_t task = begin; task < end; ++task) {
        const int64_t group = task / parts_of(vectors);
        const int64_t vector = part_begin(task % parts_of(vectors), vectors),
                      count = vectors_at(vector, vectors) * L;
        const int64_t present = std::min(count, out - vector * L), first = group * out + vector * L;
        for (int64_t block = 0; block < in; block += together) {
          const int64_t channels = std::min(together, in - block), each = channels * count;
          turn_weights<Arch>(w.data + (first * in + block) * 9, w.factors_of(first), in * 9, channels * 9,
                             present, count, turned);
          for (int64_t c = 0; c < channels; ++c)
            transform_weights<Arch, Tiles>(turned + c * 9 * count, count, all + c * count, each);
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

}  // namespace winograd_detail

template <class Arch, class T>
void winograd_conv_impl(const BlockedConvArgs<T>& a) {
  using namespace winograd_detail;
  const ConvGeometry& g = a.geometry;
  if (g.batch <= 0 || g.out_channels <= 0 || g.out[0] <= 0 || g.out[1] <= 0) return;
  with_tiles(a.winograd, [&]<class Tiles>(Tiles) {
    if (a.plain_x) return run_planes<Arch, Tiles>(a);
    const Plan<T, Arch, Tiles> plan(a);
    const int64_t parts = parts_of(plan.vectors);
    parallel_for(g.batch * g.groups * plan.bands * plan.shares, 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t first = task / plan.shares % plan.bands * plan.band, share = task % plan.shares;
        plan.run(task / plan.shares / plan.bands, first, std::min(first + plan.band, plan.tiles),
                 share_begin(share, plan.shares, parts), share_begin(share + 1, plan.shares, parts));
      }
    });
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
