// Pooling: the cells that windows see, and outputs computed one by one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/sliding.hpp"

namespace tenon::TENON_ABI::kernels::pool_detail {

using sliding::Axis;
using sliding::SlidingWindow;
using sliding::step;
using sliding::steps_to_zero;

/// Kernel cells [first, last) of an axis that output cell o sees inside [low, high).
struct Part {
  int64_t first, last;
};
template <class Arch>
Part part_within(const Axis& a, int64_t o, int64_t low, int64_t high) {
  const int64_t start = o * a.stride - a.pad;
  return {std::min(steps_to_zero(start - low, a.dilation), a.kernel),
          std::min(steps_to_zero(start - high, a.dilation), a.kernel)};
}

/// Walks the cells of one window that lie inside: f(flat position in the plane), in row-major order.
template <class Arch, class F>
void for_cells(const SlidingWindow<Arch>& w, const int64_t* out_at, F f) {
  Part part[max_spatial];
  int64_t at[max_spatial];
  for (int d = 0; d < w.rank; ++d) {
    part[d] = part_within<Arch>(w.axis[d], out_at[d], 0, w.axis[d].in);
    if (part[d].first >= part[d].last) return;
    at[d] = part[d].first;
  }
  const Axis& inner = w.inner();
  for (;;) {
    int64_t row = 0;
    for (int d = 0; d + 1 < w.rank; ++d) {
      const Axis& a = w.axis[d];
      row = row * a.in + out_at[d] * a.stride + at[d] * a.dilation - a.pad;
    }
    row = row * inner.in + out_at[w.rank - 1] * inner.stride - inner.pad;
    for (int64_t k = part[w.rank - 1].first; k < part[w.rank - 1].last; ++k) f(row + k * inner.dilation);
    int d = w.rank - 2;
    for (; d >= 0; --d) {
      if (++at[d] < part[d].last) break;
      at[d] = part[d].first;
    }
    if (d < 0) return;
  }
}

/// Calls body(plane) for all planes, in parallel. `work` is the cost of a plane in cells.
template <class Arch, class F>
void for_planes(int64_t planes, int64_t work, F body) {
  const int64_t grain = std::max<int64_t>(2 * task_work::cheap / std::max<int64_t>(work, 1), 1);
  parallel_for(planes, grain, body);
}

/// The greatest number of cells that a window can have inside, at least 1.
template <class Arch>
int64_t most_cells(const SlidingWindow<Arch>& w) {
  int64_t cells = 1;
  for (int d = 0; d < w.rank; ++d) cells *= std::max<int64_t>(std::min(w.axis[d].kernel, w.axis[d].in), 1);
  return cells;
}

/// What outputs see of a plane of rows: the offset of each row inside the window. It is the same for all
/// planes: a short list is made once, a long one for `together` outputs at a time.
template <class Arch>
class SeenRows {
 public:
  /// Planes of `outer` rows, each `row` cells long.
  TENON_NOINLINE SeenRows(const SlidingWindow<Arch>& outer, int64_t row, int64_t together, Scratch& scratch)
      : outer_(outer), row_(row), cells_(most_cells(outer)), listed_(outer.out_cells()) {
    whole_ = listed_ * cells_ <= cache_bytes::l2 / 8 / int64_t{sizeof(int64_t)};
    if (!whole_) listed_ = together;
    take_memory(scratch);
    if (whole_) list(listed_);
  }
  /// Before a task's first go_to.
  void begin(Scratch& scratch) {
    if (!whole_) take_memory(scratch);
  }
  /// Moves to the `count` consecutive outputs that start at number `first`.
  void go_to(int64_t first, int64_t count) {
    if (whole_) first_ = first;
    else list(count);
  }
  const int64_t* places(int64_t output) const { return places_ + (first_ + output) * cells_; }
  int64_t count(int64_t output) const { return counts_[first_ + output]; }

 private:
  void take_memory(Scratch& scratch) {
    places_ = scratch.take<int64_t>(listed_ * cells_);
    counts_ = scratch.take<int64_t>(listed_);
  }
  TENON_NOINLINE void list(int64_t count) {
    for (int64_t r = 0; r < count; ++r) {
      int64_t n = 0;
      const auto add = [&](int64_t cell) { places_[r * cells_ + n++] = cell * row_; };
      if (outer_.rank == 0) add(0);
      else for_cells(outer_, at_, add);
      counts_[r] = n;
      step<Arch>(outer_.rank, at_, [&](int d) { return outer_.axis[d].out; });
    }
  }

  const SlidingWindow<Arch>& outer_;
  int64_t row_, cells_, listed_, first_ = 0;
  bool whole_;
  int64_t *places_ = nullptr, *counts_ = nullptr;
  int64_t at_[max_spatial] = {};
};

/// All outputs one by one: one(x of the plane, output coordinates, plane, place of the output).
template <class Arch, class One>
void pool_cells(const SlidingWindow<Arch>& w, int64_t planes, One one) {
  const int64_t out = w.out_cells();
  for_planes<Arch>(planes, out * most_cells(w), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      int64_t at[max_spatial] = {};
      for (int64_t o = 0; o < out; ++o) {
        one(plane, at, plane * out + o);
        step<Arch>(w.rank, at, [&](int d) { return w.axis[d].out; });
      }
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels::pool_detail
