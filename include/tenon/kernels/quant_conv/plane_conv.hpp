// Convolutions of 8-bit integers by tiles over planes of cells.
//
// The input is copied once, with its padding, as planes of cells: two or four neighbouring channels of one
// place (gemm/bytes.hpp). An axis with a stride is split into phases, so that neighbouring outputs see
// neighbouring cells through every kernel place. No such copy is made if each output sees a single place.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/gemm/bytes.hpp"
#include "tenon/kernels/quant_conv/args.hpp"
#include "tenon/kernels/quant_conv/bytes.hpp"
#include "tenon/kernels/quant_conv/gather.hpp"
#include "tenon/kernels/quant_conv/planes.hpp"
#include "tenon/kernels/quant_conv/weights.hpp"

namespace tenon::TENON_ABI::kernels::quant_conv_detail {

using gemm_detail::wrap_add;

/// A tile is a panel of output channels times neighbouring outputs. The cells that these see are copied side
/// by side, for all panels whose weights stay in a cache.
template <class Ops, class Arch>
class PlaneConv {
 public:
  PlaneConv(const QuantConvArgs& g, const WeightLayout<Ops, Arch>& weights, const PlaneLayout<Arch>& l,
            const int32_t* packed)
      : g_(g),
        weights_(weights),
        l_(l),
        packed_(packed),
        items_(g.geometry.batch * g.geometry.groups),
        plain_(l.w.identity()),
        image_(plain_ ? 0 : weights.cells * l.cells() + S::cols),
        at_once_(plain_ ? items_ : std::clamp<int64_t>((int64_t{8} << 20) / image_, 1, items_)),
        panels_((weights.m + S::rows - 1) / S::rows),
        shallow_(weights.depth <= S::depth / 2),
        width_(
            (shallow_ ? std::min(S::depth / std::max<int64_t>(weights.depth, 1), most_tiles) : deep_tiles) *
            S::cols),
        outputs_(l.w.out_cells()),
        offset_(scratch_.take<int64_t>(weights.depth)),
        images_(scratch_.take<int32_t>(image_ * at_once_)) {
    int64_t at[max_spatial] = {};
    for (int64_t t = 0; t < weights.kernel; ++t) {
      for (int64_t c = 0; c < weights.cells; ++c) offset_[c * weights.kernel + t] = c * l.cells() + l.tap(at);
      step<Arch>(l.w.rank, at, [&](int d) { return l.w.axis[d].kernel; });
    }
  }

  void run() const {
    for (int64_t first = 0; first < items_; first += at_once_) {
      const int64_t count = std::min(at_once_, items_ - first);
      if (!plain_) fill(first, count);
      compute(first, count);
    }
  }

 private:
  using S = Tile<Ops, Arch>;
  static constexpr int lanes = simd::lanes<int32_t, Arch>;
  // Weights of this many panels, at S::depth cells, stay in the second-level cache.
  static constexpr int64_t most_panels = 128 / S::rows, most_tiles = 16, deep_tiles = 4;

  /// Copies the images of items [first, first + count) to their planes.
  void fill(int64_t first, int64_t count) const {
    const int64_t fours = (weights_.channels + 3) / 4, in = l_.w.in_cells();
    const int32_t zero = x_zero();
    const int64_t grain = std::max<int64_t>(task_work::cheap / l_.cells(), 1);
    parallel_for(count * fours, grain, [&](int64_t begin, int64_t end) {
      for (int64_t f = begin; f < end; ++f) {
        const int64_t item = f / fours, c = f % fours * 4;
        fill_planes<Ops, Arch>(
            l_, static_cast<const uint8_t*>(g_.x) + ((first + item) * weights_.channels + c) * in,
            g_.x_signed, zero, weights_.channels - c,
            images_ + item * image_ + c / Ops::per_cell * l_.cells());
      }
    });
  }

  /// Computes the outputs of these items: tasks are outputs times the panels that share them.
  void compute(int64_t first, int64_t count) const {
    const int64_t strips = (outputs_ + width_ - 1) / width_;
    int64_t panels = std::min(panels_, most_panels);
    while (panels > 16 / S::rows && count * strips * (panels_ / panels) < 2 * threads_at_hand()) panels /= 2;
    const int64_t blocks = (panels_ + panels - 1) / panels;
    const int64_t work = width_ * std::min(weights_.m, panels * S::rows) * weights_.depth * Ops::per_cell;
    parallel_for(count * blocks * strips,
                 std::max<int64_t>(task_work::byte_products / std::max<int64_t>(work, 1), 1),
                 [&](int64_t begin, int64_t end) {
                   Scratch scratch;
                   int32_t* const cells = scratch.take<int32_t>(S::depth * S::cols + 16);
                   int32_t* const sums = scratch.take<int32_t>(most_panels * S::rows * width_);
                   for (int64_t t = begin; t < end; ++t) {
                     const int64_t panel = t / strips % blocks * panels;
                     compute_strip(first, t / (blocks * strips), panel, std::min(panel + panels, panels_),
                                   t % strips * width_, cells, sums);
                   }
                 });
  }

  /// The tiles of panels [panel, end_panel) and outputs from j on, for item first + image.
  void compute_strip(int64_t first, int64_t image, int64_t panel, int64_t end_panel, int64_t j,
                     int32_t* cells, int32_t* sums) const {
    alignas(64) int32_t window[most_tiles * S::cols];
    const int64_t item = first + image, group = item % g_.geometry.groups, m = panel * S::rows;
    const int64_t rows = std::min(weights_.m, end_panel * S::rows) - m, cols = std::min(width_, outputs_ - j);
    const int32_t* const a = packed_ + weights_.panels() + group * weights_.group_size() + m * weights_.depth;
    const int32_t* const zeros = packed_[1] != 0 ? window : nullptr;
    const auto gather = [&](int64_t p, int64_t depth, int64_t c, int32_t* to) {
      const int64_t n = std::min<int64_t>(S::cols, cols - c);
      if (plain_) {
        const int64_t channel = p * Ops::per_cell;
        const auto* const x =
            static_cast<const uint8_t*>(g_.x) + (item * weights_.channels + channel) * outputs_ + j + c;
        return gather_bytes<Ops, S, Arch>(x, outputs_,
                                          std::min(depth * Ops::per_cell, weights_.channels - channel), n,
                                          g_.x_signed ? 128 : 0, x_zero(), to);
      }
      Run runs[S::cols];
      const int64_t count = list_runs<Arch>(l_, j + c, n, runs);
      gather_cells<S, Arch>(images_ + image * image_, offset_ + p, depth, runs, count, to);
    };
    const auto sum = [&](int64_t depth, int64_t n, const int32_t* from, const int32_t* ahead, int64_t c,
                         const int32_t* b, bool adds, int32_t* to) {
      const int64_t vectors = (std::min<int64_t>(S::cols, cols - c) + lanes - 1) / lanes;
      gemm_detail::tile_for<Ops, Arch>(n, static_cast<int>(vectors))(
          depth, {from, 1, S::rows, b, S::cols, 0, ahead, S::rows},
          {to + c, width_, adds ? to + c : nullptr, width_, nullptr, nullptr, 1, false, 0, 0, false,
           nullptr});
    };
    const auto sum_window = [&](int64_t p, int64_t depth, int64_t c, const int32_t* b) {
      const int32_t* const ones = packed_ + weights_.ones() + p * S::rows;
      if (zeros != nullptr) sum(depth, 1, ones, ones, c, b, p > 0, window);
    };
    const auto sum_panel = [&](int64_t p, int64_t depth, int64_t r, int64_t c, const int32_t* b,
                               int32_t* to) {
      const int32_t* const from = a + r * weights_.depth + p * S::rows;
      const int64_t n = std::min<int64_t>(S::rows, rows - r);
      sum(depth, n, from, from + weights_.depth * S::rows, c, b, p > 0, to);
      if constexpr (gemm_detail::may_exceed<Ops>) {
        if (packed_[2] == 0) return;
        const int64_t vectors = (std::min<int64_t>(S::cols, cols - c) + lanes - 1) / lanes;
        for (int64_t i = 0; i < n; ++i) {
          const Excess excess = weights_.excess(packed_, group, m + r + i, p / S::depth);
          int32_t* const row = to + i * width_ + c;
          if (vectors == S::vectors) add_excess<S::vectors>(excess, b, row);
          else
            for (int64_t v = 0; v < vectors; ++v) add_excess<1>(excess, b + v * lanes, row + v * lanes);
        }
      }
    };
    const auto finish = [&](int64_t r, int32_t* row) {
      finish_row(item / g_.geometry.groups, group * weights_.m + m + r, j, cols, zeros, row);
    };
    if (shallow_) {
      // A panel's results are written in whole cache lines.
      for (int64_t c = 0; c < cols; c += S::cols) {
        gather(0, weights_.depth, c, cells + c * weights_.depth);
        sum_window(0, weights_.depth, c, cells + c * weights_.depth);
      }
      for (int64_t r = 0; r < rows; r += S::rows) {
        for (int64_t c = 0; c < cols; c += S::cols)
          sum_panel(0, weights_.depth, r, c, cells + c * weights_.depth, sums);
        for (int64_t i = 0; i < std::min<int64_t>(S::rows, rows - r); ++i) finish(r + i, sums + i * width_);
      }
      return;
    }
    for (int64_t p = 0; p < weights_.depth; p += S::depth) {
      const int64_t depth = std::min(S::depth, weights_.depth - p);
      for (int64_t c = 0; c < cols; c += S::cols) {
        gather(p, depth, c, cells);
        sum_window(p, depth, c, cells);
        for (int64_t r = 0; r < rows; r += S::rows) sum_panel(p, depth, r, c, cells, sums + r * width_);
      }
    }
    for (int64_t r = 0; r < rows; ++r) finish(r, sums + r * width_);
  }

  /// Adds the products of a row's excess to its sums.
  template <int vectors>
  static void add_excess(const Excess& excess, const int32_t* b, int32_t* to) {
    using V = simd::batch<int32_t, Arch>;
    if (excess.count == 0) return;
    V sum[vectors];
    for (int v = 0; v < vectors; ++v) sum[v] = simd::loadu<Arch>(to + v * lanes);
    for (int64_t i = 0; i < excess.count; ++i) {
      const V a(excess.cells[i]);
      const int32_t* const from = b + excess.places[i] * S::cols;
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v)
        sum[v] = Ops::add_product(a, simd::loadu<Arch>(from + v * lanes), sum[v]);
    }
    for (int v = 0; v < vectors; ++v) simd::storeu(to + v * lanes, sum[v]);
  }

  /// Finishes a row of sums: outputs [j, j + cols) of channel c. The sums of the window, if given, are the
  /// sums of numbers that multiply the zero points of weights.
  void finish_row(int64_t image, int64_t c, int64_t j, int64_t cols, const int32_t* window,
                  int32_t* row) const {
    const int64_t at = (image * g_.geometry.out_channels + c) * outputs_ + j;
    int32_t add = g_.bias != nullptr ? g_.bias[c] : 0;
    if (Ops::per_cell == 4)
      add = wrap_sub(add,
                     wrap_mul(x_zero() - gemm_detail::lowers<Ops, Arch>, packed_[weights_.correction() + c]));
    if (window != nullptr) {
      const int32_t zero = packed_[weights_.zero() + c];
      for (int64_t e = 0; e < cols; ++e) row[e] = wrap_sub(row[e], wrap_mul(zero, window[e]));
    }
    if (g_.y != nullptr) {
      for (int64_t e = 0; e < cols; ++e) g_.y[at + e] = wrap_add(row[e], add);
      return;
    }
    make_bytes<Arch>(row, cols, add, g_.bytes.scale[c], g_.bytes, static_cast<uint8_t*>(g_.bytes.y) + at);
  }

  /// The zero point of the bytes in planes, where signed ones are raised by 128.
  int32_t x_zero() const { return g_.x_signed ? g_.x_zero + 128 : g_.x_zero; }

  const QuantConvArgs& g_;
  const WeightLayout<Ops, Arch>& weights_;
  const PlaneLayout<Arch>& l_;
  const int32_t* const packed_;
  const int64_t items_;    // groups of all images
  const bool plain_;       // whether tiles read the bytes of x
  const int64_t image_;    // cells of an item's planes, and those that the last vectors read past them
  const int64_t at_once_;  // items: one, or more whose planes take at most 32 MB
  const int64_t panels_;   // of a group
  const bool shallow_;     // whether the cells of several tiles stay in the first-level cache
  const int64_t width_;    // outputs of a task
  const int64_t outputs_;  // of a channel
  Scratch scratch_;
  int64_t* const offset_;  // of each cell of a panel's rows in the planes
  int32_t* const images_;
};

}  // namespace tenon::TENON_ABI::kernels::quant_conv_detail
