// Convolutions by bands of rows: bodies.
//
// A task computes rows of the last convolution from top to bottom, a few at a time. Each convolution before
// it has a strip: the rows of its result that the next one needs for them. Rows that the next band needs too
// move to the front of the strip and are not recomputed.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/cell_tile.hpp"
#include "tenon/kernels/conv/chain.hpp"

namespace tenon::TENON_ABI::kernels::chain_detail {

using cell_detail::share_begin;
using cell_detail::up;
using simd::lanes;

struct Rows {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};

/// The row of the image, or above it, at which the windows of output row `row` begin.
inline int64_t window_begin(const ConvGeometry& g, int64_t row) { return row * g.strides[0] - g.pads[0]; }

/// The rows of the image that `windows` neighbouring windows see, if all of them are inside it.
inline int64_t rows_needed(const ConvGeometry& g, int64_t windows) {
  return (windows - 1) * g.strides[0] + (g.kernel[0] - 1) * g.dilations[0] + 1;
}

/// The rows of the image that output rows see.
inline Rows rows_seen(const ConvGeometry& g, Rows y) {
  const int64_t first = window_begin(g, y.begin);
  const int64_t begin = std::clamp<int64_t>(first, 0, g.in[0]);
  return {begin, std::clamp(first + rows_needed(g, y.count()), begin, g.in[0])};
}

template <class T, class Arch>
class Chain {
  static constexpr int L = lanes<T, Arch>;
  static constexpr int most = 4;  ///< convolutions

 public:
  explicit Chain(std::span<const BlockedConvArgs<T>> stages)
      : stages_(stages), last_(static_cast<int>(stages.size()) - 1) {
    constexpr int64_t budget = cache_bytes::l2_of<Arch> / 4 * 3;
    step_ = geometry(last_).out[0];
    while (step_ > 1 && plan_strips() > budget) step_ = up(step_, 2);
    plan_strips();
  }

  int64_t rows() const { return geometry(last_).out[0]; }
  int64_t step() const { return step_; }

  /// Computes rows of the last result of image n.
  void run(int64_t n, Rows rows) const {
    Scratch scratch;
    T* strips[most];
    Rows held[most];
    for (int k = 0; k < last_; ++k)
      strips[k] = scratch.take<T>(vectors(k) * capacity_[k] * geometry(k).out[1] * L);
    held[last_] = {rows.begin, rows.begin};
    for (int64_t row = rows.begin; row < rows.end; row += step_) {
      Rows fresh[most];
      fresh[last_] = {row, std::min(row + step_, rows.end)};
      for (int k = last_; k > 0; --k) {
        const Rows seen = rows_seen(geometry(k), fresh[k]);
        const Rows kept{seen.begin, std::max(held[k - 1].end, seen.begin)};
        if (kept.count() > 0 && kept.begin > held[k - 1].begin) keep(k - 1, strips[k - 1], held[k - 1], kept);
        fresh[k - 1] = {kept.end, std::max(seen.end, kept.end)};
        held[k - 1] = {seen.begin, fresh[k - 1].end};
      }
      for (int k = 0; k <= last_; ++k) compute(n, k, fresh[k], strips, held);
    }
  }

 private:
  const ConvGeometry& geometry(int k) const { return stages_[static_cast<std::size_t>(k)].geometry; }
  int64_t vectors(int k) const { return up(geometry(k).out_channels, L); }

  /// Derives the strips' rows from the rows of a band, and returns their size in bytes.
  int64_t plan_strips() {
    int64_t bytes = 0, rows = step_;
    for (int k = last_ - 1; k >= 0; --k) {
      rows = capacity_[k] = std::min(rows_needed(geometry(k + 1), rows), geometry(k).out[0]);
      bytes += vectors(k) * rows * geometry(k).out[1] * L * static_cast<int64_t>(sizeof(T));
    }
    return bytes;
  }

  /// Moves rows of a strip to the front.
  void keep(int k, T* strip, Rows held, Rows kept) const {
    const int64_t row = geometry(k).out[1] * L;
    for (int64_t v = 0; v < vectors(k); ++v, strip += capacity_[k] * row)
      std::memmove(strip, strip + (kept.begin - held.begin) * row,
                   static_cast<std::size_t>(kept.count() * row) * sizeof(T));
  }

  /// Computes rows of a convolution, treating them as an image and the rows that they see as its input.
  void compute(int64_t n, int k, Rows y, T* const* strips, const Rows* held) const {
    if (y.count() == 0) return;
    BlockedConvArgs<T> a = stages_[static_cast<std::size_t>(k)];
    const ConvGeometry& g = geometry(k);
    const Rows x = rows_seen(g, y);
    const int64_t in[2] = {x.count(), g.in[1]}, out[2] = {y.count(), g.out[1]},
                  pads[2] = {x.begin - window_begin(g, y.begin), g.pads[1]};
    a.geometry.batch = 1, a.geometry.in = in, a.geometry.out = out, a.geometry.pads = pads;
    const int64_t x_row = g.in[1] * (a.plain_x ? 1 : L), y_row = g.out[1] * L;
    if (k == 0) {
      a.x_plane = g.in[0] * g.in[1];
      a.x += n * (a.plain_x ? g.in_channels : up(g.in_channels, L)) * g.in[0] * x_row + x.begin * x_row;
    } else {
      a.x_plane = capacity_[k - 1] * g.in[1];
      a.x = strips[k - 1] + (x.begin - held[k - 1].begin) * x_row;
    }
    if (k == last_) {
      const int64_t to = (n * vectors(k) * g.out[0] + y.begin) * y_row;
      a.y_plane = g.out[0] * g.out[1];
      a.y += to;
      if (a.add != nullptr) a.add += to;
    } else {
      a.y_plane = capacity_[k] * g.out[1];
      a.y = strips[k] + (y.begin - held[k].begin) * y_row;
    }
    blocked_conv_impl<Arch>(a);
  }

  std::span<const BlockedConvArgs<T>> stages_;
  int last_;
  int64_t step_;              ///< rows of a band
  int64_t capacity_[most]{};  ///< rows of the strips
};

}  // namespace tenon::TENON_ABI::kernels::chain_detail

namespace tenon::TENON_ABI::kernels {

template <class Arch, class T>
void conv_chain_impl(std::span<const BlockedConvArgs<T>> stages) {
  using namespace chain_detail;
  const Chain<T, Arch> chain(stages);
  const int64_t batch = stages[0].geometry.batch, threads = threads_at_hand();
  // Each task recomputes the rows above its own that a band would have kept: they are few.
  const int64_t bands = up(chain.rows(), chain.step());
  const int64_t tasks = threads == 1 ? 1 : std::min(2 * threads, bands);
  parallel_for(batch * tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t part = task % tasks;
      chain.run(task / tasks,
                {share_begin(part, tasks, chain.rows()), share_begin(part + 1, tasks, chain.rows())});
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::TENON_ABI::kernels {

template void conv_chain_impl<TENON_INSTANTIATE, float>(std::span<const BlockedConvArgs<float>>);

}  // namespace tenon::TENON_ABI::kernels
#endif
