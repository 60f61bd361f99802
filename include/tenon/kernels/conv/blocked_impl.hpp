// Convolutions over blocks of channels: bodies.
//
// A task computes a band of output cells for some vectors of output channels. Its input cells are read in
// place if windows neither leave the image nor skip cells; otherwise the band is copied, padded with zeros
// and with the columns sorted by their remainders modulo the stride, so that the cells of a tile are
// neighbours again. Input channels are taken in chunks: the weights of a tile's vectors over one chunk and
// the band's cells stay in the second-level cache, and sums wait in y between chunks.
#pragma once

#include <algorithm>
#include <cstring>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/blocked.hpp"
#include "tenon/kernels/conv/cell_tile.hpp"
#include "tenon/simd/batch.hpp"
#include "tenon/simd/vector.hpp"

namespace tenon::TENON_ABI::kernels::blocked_detail {

using cell_detail::CellEnd;
using cell_detail::compute_row;
using cell_detail::copy_cells;
using cell_detail::most_cells;
using cell_detail::part_begin;
using cell_detail::parts_of;
using cell_detail::Reach;
using cell_detail::share_begin;
using cell_detail::TapRange;
using cell_detail::tasks_for;
using cell_detail::turn;
using cell_detail::turn_weights;
using cell_detail::up;
using cell_detail::vectors_at;
using cell_detail::with_vectors;
using simd::batch;
using simd::lanes;

inline constexpr int plain_step = 4;  ///< channels of a cell in the copy of an x that is not in blocks

/// A rectangle of output cells.
struct Band {
  int64_t row, rows, col, cols;
};

/// One axis of a band's copy: where a window's cells lie in it.
struct CopiedAxis {
  int64_t phases;  ///< remainders modulo the stride that windows see
  int64_t length;  ///< cells of each

  /// The copy of `count` neighbouring windows.
  CopiedAxis(int64_t count, int64_t kernel, int64_t stride, int64_t dilation)
      : phases(std::min(stride, (kernel - 1) * dilation + 1)),
        length(count + (kernel - 1) * dilation / stride) {}

  int64_t size() const { return phases * length; }
  /// The place of the cell at `offset` of the first window.
  int64_t place(int64_t offset, int64_t stride) const { return offset % stride * length + offset / stride; }
};

/// Joins up to plain_step planes of single numbers into cells: those from column `first` of x on, in the
/// order of `across`.
template <class T, class Arch>
void join_planes(const T* x, int64_t planes, int64_t plane, int64_t width, int64_t first, int64_t stride,
                 const CopiedAxis& across, T* to) {
  using Four = simd::Vector<T, plain_step>;
  int64_t phase = 0, index = 0;
  const auto put = [&](const Four& cell) {
    if (phase < across.phases)
      std::memcpy(to + (phase * across.length + index) * plain_step, &cell, sizeof cell);
    if (++phase == stride) phase = 0, ++index;
  };
  const int64_t count = across.length * stride;
  const int64_t begin = std::clamp<int64_t>(-first, 0, count), end = std::clamp(width - first, begin, count);
  for (int64_t i = 0; i < begin; ++i) put(Four{});
  x += first;
  int64_t i = begin;
  for (; i + plain_step <= end; i += plain_step) {
    Four row[plain_step];
    for (int64_t p = 0; p < plain_step; ++p)
      std::memcpy(&row[p], x + std::min(p, planes - 1) * plane + i, sizeof(Four));
    const Four even = simd::shuffle<0, 4, 1, 5>(row[0], row[2]),
               odd = simd::shuffle<0, 4, 1, 5>(row[1], row[3]),
               later_even = simd::shuffle<2, 6, 3, 7>(row[0], row[2]),
               later_odd = simd::shuffle<2, 6, 3, 7>(row[1], row[3]);
    put(simd::shuffle<0, 4, 1, 5>(even, odd));
    put(simd::shuffle<2, 6, 3, 7>(even, odd));
    put(simd::shuffle<0, 4, 1, 5>(later_even, later_odd));
    put(simd::shuffle<2, 6, 3, 7>(later_even, later_odd));
  }
  for (; i < end; ++i) {
    Four cell{};
    for (int64_t p = 0; p < planes; ++p) cell[p] = x[p * plane + i];
    put(cell);
  }
  for (; i < count; ++i) put(Four{});
}

/// The extents of one group of a convolution, and how they are cut.
template <class T, class Arch>
struct Plan {
  static constexpr int L = lanes<T, Arch>;
  /// Cells whose sums are transposed at once if y is not in blocks: whole tiles that stay in the first-level
  /// cache.
  static constexpr int64_t turned_cells = 4 * most_cells<Arch>(1);

  const BlockedConvArgs<T>& args;
  const ConvGeometry& g;
  int64_t in_channels, out_vectors;  ///< of a group
  int64_t taps, in_cells, out_cells, x_plane, y_plane;
  int64_t rows, cols;      ///< of output cells; pointwise convolutions have one row
  bool pointwise, direct;  ///< x is read in place
  int64_t step, blocks, chunk;
  int64_t row_bands, col_bands, shares;  ///< of an image's cells, and of the output channels

  explicit Plan(const BlockedConvArgs<T>& a) : args(a), g(a.geometry) {
    in_channels = g.in_channels / g.groups;
    out_vectors = up(g.out_channels / g.groups, L);
    taps = g.kernel[0] * g.kernel[1];
    in_cells = g.in[0] * g.in[1];
    out_cells = g.out[0] * g.out[1];
    x_plane = a.x_plane > 0 ? a.x_plane : in_cells, y_plane = a.y_plane > 0 ? a.y_plane : out_cells;
    const auto stays_inside = [&](int d) {
      return g.strides[d] == 1 && g.pads[d] == 0 && g.out[d] + (g.kernel[d] - 1) * g.dilations[d] <= g.in[d];
    };
    direct = !a.plain_x && stays_inside(0) && stays_inside(1);
    pointwise = direct && taps == 1 && in_cells == out_cells;
    rows = pointwise ? 1 : g.out[0];
    cols = pointwise ? out_cells : g.out[1];
    step = a.plain_x ? plain_step : L;
    blocks = up(in_channels, step);

    constexpr int64_t weight_bytes = cache_bytes::l2 / 8, band_bytes = cache_bytes::l2_of<Arch> / 4 * 3;
    const int64_t block_bytes = 2 * L * step * taps * static_cast<int64_t>(sizeof(T));
    // Sums cannot wait in a y that is not in blocks.
    chunk = a.plain_y ? blocks : up(blocks, up(blocks, std::max<int64_t>(weight_bytes / block_bytes, 1)));
    const auto phases = [&](int d) {
      return CopiedAxis(1, g.kernel[d], g.strides[d], g.dilations[d]).phases;
    };
    const int64_t cell_bytes = chunk * step * static_cast<int64_t>(sizeof(T)) * phases(1);
    constexpr int64_t tile = most_cells<Arch>(2);
    const int64_t fitting = std::max<int64_t>(band_bytes / cell_bytes, 1);  // columns of one row
    const int64_t halo = (g.kernel[0] - 1) * g.dilations[0];
    const int64_t most_cols = std::min(cols, std::max(fitting / (1 + halo) / tile * tile, 2 * tile));
    const int64_t most_rows = std::clamp<int64_t>((fitting / most_cols - halo) / phases(0), 1, rows);
    row_bands = up(rows, most_rows), col_bands = up(cols, most_cols), shares = 1;

    const double products = static_cast<double>(out_cells) * static_cast<double>(out_vectors * L) *
                            static_cast<double>(taps * in_channels) * static_cast<double>(g.batch * g.groups);
    const int64_t bands = row_bands * col_bands, items = g.batch * g.groups;
    const int64_t tasks = up(tasks_for<Arch>(products, items * bands), items);  // of an item
    if (tasks > bands) {
      // Tasks for parts of the channels each read all of x, and tasks for bands all of the weights. Each
      // copies the band for itself, so more of them than threads would only repeat the copy.
      const bool by_channels = out_vectors * L * taps >= out_cells * phases(0) * phases(1);
      const int64_t useful = direct ? tasks : std::min(tasks, threads_at_hand());
      if (by_channels) shares = std::min(up(useful, bands), parts_of(out_vectors));
      // Few shares do not divide evenly among threads, but halves of them do.
      if (by_channels && (!pointwise || shares % threads_at_hand() == 0)) return;
      if (by_channels) col_bands = std::min(std::max(up(tasks, shares), col_bands), up(cols, tile));
      else if (rows > 1) row_bands = std::min(rows, up(tasks, col_bands));
      else col_bands = std::min(tasks, up(cols, tile));
    }
  }

  int64_t bands() const { return row_bands * col_bands; }

  /// Band `at` of an image: whole tiles across, except at the end of rows.
  Band band(int64_t at) const {
    constexpr int64_t tile = most_cells<Arch>(2);
    const int64_t down = at / col_bands, across = at % col_bands, tiles = up(cols, tile);
    Band b;
    b.row = share_begin(down, row_bands, rows), b.col = share_begin(across, col_bands, tiles) * tile;
    b.rows = share_begin(down + 1, row_bands, rows) - b.row;
    b.cols = std::min(share_begin(across + 1, col_bands, tiles) * tile, cols) - b.col;
    return b;
  }

  /// Computes vectors of parts [part, part_end) of a band.
  void run(int64_t n, int64_t group, const Band& at, int64_t part, int64_t part_end) const {
    if (args.plain_x) run_steps<plain_step, true>(n, group, at, part, part_end);
    else run_steps<L, false>(n, group, at, part, part_end);
  }

 private:
  template <int Step, bool plain>
  void run_steps(int64_t n, int64_t group, const Band& at, int64_t part, int64_t part_end) const {
    Scratch scratch;
    int64_t* tap = scratch.take<int64_t>(taps);
    const CopiedAxis down(at.rows, g.kernel[0], g.strides[0], g.dilations[0]);
    const CopiedAxis across(at.cols, g.kernel[1], g.strides[1], g.dilations[1]);
    for (int64_t k = 0; k < taps; ++k) {
      const int64_t r = k / g.kernel[1] * g.dilations[0], c = k % g.kernel[1] * g.dilations[1];
      tap[k] = (direct ? r * g.in[1] + c
                       : down.place(r, g.strides[0]) * across.size() + across.place(c, g.strides[1])) *
               Step;
    }
    const int64_t row_step = (pointwise ? 0 : direct ? g.in[1] : across.size()) * Step;
    const int64_t block_step = direct ? x_plane * Step : down.size() * across.size() * Step;
    T* space = direct ? nullptr : scratch.take<T>(std::min(chunk, blocks) * block_step);
    T* sums = args.plain_y ? scratch.take<T>(3 * turned_cells * L) : nullptr;
    const T* x = plain ? args.x + n * g.in_channels * x_plane
                       : args.x + (n * up(g.in_channels, L) + group * in_channels / L) * x_plane * L;
    const int64_t first_vector = group * out_vectors, all_vectors = up(g.out_channels, L);
    const T* group_weights = args.packed_w + group * out_vectors * L * taps * in_channels;
    // The weights of a part, starting at a block of input channels.
    const auto weights = [&](int64_t p, int64_t block) {
      const int64_t vector = part_begin(p, out_vectors);
      return group_weights +
             (vector * in_channels + block * Step * vectors_at(vector, out_vectors)) * L * taps;
    };
    // With one tap, the rows of a band as wide as the image are joined if they are contiguous.
    const bool joined = taps == 1 && at.cols == cols && row_step == at.cols * Step;
    const int64_t band_rows = joined ? 1 : at.rows, row_cells = joined ? at.rows * at.cols : at.cols;
    for (int64_t k = 0; k < blocks; k += chunk) {
      Reach reach;
      reach.blocks = std::min(chunk, blocks - k), reach.block_step = block_step;
      reach.taps = taps, reach.tap = tap;
      reach.last_depth = std::min<int64_t>(Step, in_channels - (k + reach.blocks - 1) * Step);
      const T* cells = direct ? x + k * block_step + (at.row * g.in[1] + at.col) * Step : space;
      if (!direct)
        for (int64_t b = 0; b < reach.blocks; ++b)
          copy_band<Step, plain>(plain ? x : x + (k + b) * x_plane * L, at, down, across,
                                 space + b * block_step);
      for (int64_t p = part; p < part_end; ++p) {
        const int64_t vector = part_begin(p, out_vectors);
        with_vectors<Arch>(vectors_at(vector, out_vectors), [&]<int V>(std::integral_constant<int, V>) {
          const T* w = weights(p, k);
          // A thread's next task is usually the next part's.
          const T* next = p + 1 < part_end                   ? weights(p + 1, k)
                          : k + chunk < blocks               ? weights(part, k + chunk)
                          : part_end < parts_of(out_vectors) ? weights(part_end, 0)
                                                             : nullptr;
          reach.ahead = reinterpret_cast<const char*>(next);
          reach.ahead_bytes =
              reach.blocks * Step * taps * V * L * static_cast<int64_t>(sizeof(T)) / band_rows;
          const int64_t to = ((n * all_vectors + first_vector + vector) * y_plane) * L;
          CellEnd<T> end{};
          end.y_block = (args.plain_y ? turned_cells : y_plane) * L;
          end.begins = k == 0, end.ends = k + chunk >= blocks;
          end.bias = args.bias == nullptr ? nullptr : args.bias + (first_vector + vector) * L;
          end.lo = args.lo, end.hi = args.hi;
          end.activation = args.activation;
          for (int64_t r = 0; r < band_rows; ++r) {
            const int64_t cell = (at.row + r) * cols + at.col;
            const T* row = cells + r * row_step;
            const T* seen_w = w;
            if (!direct && !joined) {  // kernel rows above and below the image are left out
              const TapRange inside(g, 0, at.row + r);
              reach.before = inside.begin * g.kernel[1];
              reach.after = (g.kernel[0] - inside.end) * g.kernel[1];
              reach.taps = taps - reach.before - reach.after, reach.tap = tap + reach.before;
              seen_w += reach.before * (reach.blocks > 1 ? int64_t{Step} : reach.last_depth) * V * L;
            }
            if (args.plain_y) {
              end.y = sums;
              turn_row<Step, V>(row_cells, reach, row, seen_w, end,
                                g.out_channels - (first_vector + vector) * L,
                                args.y + (n * g.out_channels + (first_vector + vector) * L) * y_plane + cell);
              continue;
            }
            end.y = args.y + to + cell * L;
            end.add = args.add == nullptr ? nullptr : args.add + to + cell * L;
            compute_row<T, Arch, Step, V>(row_cells, reach, row, seen_w, end);
            if (next != nullptr) reach.ahead += reach.ahead_bytes;
          }
        });
      }
    }
  }

  /// Computes a row into planes of y, `channels` of them or as many as there are in V vectors.
  template <int Step, int V>
  void turn_row(int64_t count, const Reach& reach, const T* x, const T* w, const CellEnd<T>& end,
                int64_t channels, T* y) const {
    for (int64_t col = 0; col < count; col += turned_cells, y += turned_cells) {
      const int64_t some = std::min(turned_cells, count - col);
      // The planes' lines are fetched while sums are computed.
      for (int64_t c = 0; c < std::min<int64_t>(channels, V * L); ++c)
        for (int64_t i = 0; i < some; i += L) TENON_PREFETCH(y + c * y_plane + i, 1, 3);
      compute_row<T, Arch, Step, V>(some, reach, x + col * Step, w, end);
      for (int64_t c = 0; c < std::min<int64_t>(channels, V * L); c += L)
        turn<Arch>(end.y + c * turned_cells, int64_t{L}, some, std::min<int64_t>(L, channels - c),
                   y + c * y_plane, y_plane);
    }
  }

  template <int Step, bool plain>
  void copy_band(const T* x, const Band& at, const CopiedAxis& down, const CopiedAxis& across, T* to) const {
    for (int64_t pr = 0; pr < down.phases; ++pr)
      for (int64_t i = 0; i < down.length; ++i) {
        const int64_t row = (at.row + i) * g.strides[0] + pr - g.pads[0];
        if (row < 0 || row >= g.in[0]) {
          std::memset(to, 0, static_cast<std::size_t>(across.size() * Step) * sizeof(T));
        } else if constexpr (plain) {
          join_planes<T, Arch>(x + row * g.in[1], in_channels, x_plane, g.in[1],
                               at.col * g.strides[1] - g.pads[1], g.strides[1], across, to);
        } else {
          for (int64_t pc = 0; pc < across.phases; ++pc)
            copy_cells<T, Arch>(x + row * g.in[1] * L, g.in[1], at.col * g.strides[1] + pc - g.pads[1],
                                g.strides[1], across.length, to + pc * across.length * Step);
        }
        to += across.size() * Step;
      }
  }
};

/// Calls f(place in (N, C, cells), place in blocks, channels, cells) for pieces of each block of each image,
/// in parallel. A piece stays in the first-level cache. Like convolutions, this cuts images that have more
/// cells than channels by cells, so that threads find most of an image in their own caches.
template <class T, class Arch, class F>
void for_blocks(int64_t batch, int64_t channels, int64_t cells, F f) {
  constexpr int L = lanes<T, Arch>;
  constexpr int64_t most = 256;
  const int64_t blocks = up(channels, L), pieces = up(cells, most), threads = threads_at_hand();
  const int64_t parts = cells > channels ? std::min(threads, pieces) : 1, part = up(pieces, parts);
  const int64_t grain = up(task_work::moderate, std::clamp<int64_t>(cells, 1, most) * L);
  parallel_for(batch * parts * blocks * part, grain, [&](int64_t task, int64_t end) {
    for (; task < end; ++task) {
      const int64_t of_image = task % (parts * blocks * part), image = task / (parts * blocks * part);
      const int64_t piece = of_image / (blocks * part) * part + task % part;
      if (piece >= pieces) continue;
      const int64_t block = task / part % blocks, first = block * L, cell = piece * most;
      f((image * channels + first) * cells + cell, ((image * blocks + block) * cells + cell) * L,
        std::min<int64_t>(L, channels - first), std::min(most, cells - cell));
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels::blocked_detail

namespace tenon::TENON_ABI::kernels {

template <class Arch, class T>
int64_t channel_block_impl() {
  return simd::lanes<T, Arch>;
}

template <class Arch, class T>
int64_t blocked_weight_size_impl(const ConvGeometry& g, int winograd) {
  const int64_t block = simd::lanes<T, Arch>;
  const int64_t side = winograd + phase_kernel(g) - 1;
  const int64_t cells = winograd != 0 ? side * side : g.kernel[0] * g.kernel[1];
  if (const int64_t width = narrow_group(g, block); width > 0)
    return blocked_detail::up(g.out_channels, block) * block * width * cells;
  return g.groups * blocked_detail::up(g.out_channels / g.groups, block) * block * cells *
         (winograd != 0 ? phase_channels(g) : g.in_channels / g.groups);
}

template <class Arch, class T>
void blocked_pack_weights_impl(const ConvGeometry& g, const ConvWeights<T>& w, T* packed) {
  using namespace blocked_detail;
  constexpr int L = lanes<T, Arch>;
  const int64_t taps = g.kernel[0] * g.kernel[1];
  if (const int64_t all = narrow_group(g, L) * taps; all > 0) {
    for (int64_t channel = 0; channel < g.out_channels; channel += L)
      turn_weights<Arch>(w.data + channel * all, w.factors_of(channel), all, all,
                         std::min<int64_t>(L, g.out_channels - channel), L, packed + channel * all);
    return;
  }
  const int64_t in = g.in_channels / g.groups, out = g.out_channels / g.groups, vectors = up(out, L);
  // A plain x of few channels is one block of them all.
  parallel_for(g.groups * parts_of(vectors), 1, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    T* turned = scratch.take<T>(taps == 1 ? 0 : taps * L * std::min<int64_t>(3, vectors) * L);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t group = task / parts_of(vectors), vector = part_begin(task % parts_of(vectors), vectors);
      const int64_t count = vectors_at(vector, vectors) * L, present = std::min(count, out - vector * L);
      const int64_t first = group * out + vector * L;
      T* to = packed + (group * vectors + vector) * L * in * taps;
      for (int64_t block = 0; block < in; block += L) {
        const int64_t channels = std::min<int64_t>(L, in - block);
        turn_weights<Arch>(w.data + (first * in + block) * taps, w.factors_of(first), in * taps,
                           channels * taps, present, count, taps == 1 ? to : turned);
        for (int64_t k = 0; k < taps && taps > 1; ++k)
          for (int64_t c = 0; c < channels; ++c)
            std::copy_n(turned + (c * taps + k) * count, count, to + (k * channels + c) * count);
        to += channels * taps * count;
      }
    }
  });
}

template <class Arch, class T>
void blocked_conv_impl(const BlockedConvArgs<T>& a) {
  using namespace blocked_detail;
  const ConvGeometry& g = a.geometry;
  if (g.batch <= 0 || g.out_channels <= 0 || g.out[0] <= 0 || g.out[1] <= 0) return;
  if (narrow_group(g, lanes<T, Arch>) > 0) return depthwise_conv_impl<Arch>(a);
  const Plan<T, Arch> plan(a);
  const int64_t parts = parts_of(plan.out_vectors);
  const int64_t each = plan.bands() * plan.shares;
  parallel_for(g.batch * g.groups * each, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t item = task / each, of_item = task % each;
      const int64_t share = of_item / plan.bands();
      plan.run(item / g.groups, item % g.groups, plan.band(of_item % plan.bands()),
               share_begin(share, plan.shares, parts), share_begin(share + 1, plan.shares, parts));
    }
  });
}

template <class Arch, class T>
void to_blocks_impl(int64_t batch, int64_t channels, int64_t cells, const T* x, T* y) {
  using namespace blocked_detail;
  for_blocks<T, Arch>(batch, channels, cells,
                      [&](int64_t plain, int64_t blocked, int64_t count, int64_t some) {
                        constexpr int L = lanes<T, Arch>;
                        if (count < L) std::fill_n(y + blocked, some * L, T{0});
                        turn<Arch>(x + plain, cells, count, some, y + blocked, L);
                      });
}

template <class Arch, class T>
void from_blocks_impl(int64_t batch, int64_t channels, int64_t cells, const T* x, T* y) {
  using namespace blocked_detail;
  for_blocks<T, Arch>(batch, channels, cells,
                      [&](int64_t plain, int64_t blocked, int64_t count, int64_t some) {
                        turn<Arch>(x + blocked, lanes<T, Arch>, some, count, y + plain, cells);
                      });
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

template void blocked_conv_impl<TENON_INSTANTIATE, float>(const BlockedConvArgs<float>&);
template int64_t channel_block_impl<TENON_INSTANTIATE, float>();
template int64_t blocked_weight_size_impl<TENON_INSTANTIATE, float>(const ConvGeometry&, int);
template void blocked_pack_weights_impl<TENON_INSTANTIATE, float>(const ConvGeometry&,
                                                                  const ConvWeights<float>&, float*);
template void to_blocks_impl<TENON_INSTANTIATE, float>(int64_t, int64_t, int64_t, const float*, float*);
template void from_blocks_impl<TENON_INSTANTIATE, float>(int64_t, int64_t, int64_t, const float*, float*);

}  // namespace tenon::TENON_ABI::kernels
#endif
