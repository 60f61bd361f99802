// Transposed convolutions in phases (transposed_runs.hpp): output cells are complete sums, and the results of
// the phases are interleaved.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/conv.hpp"
#include "tenon/kernels/conv/sliding.hpp"
#include "tenon/kernels/conv/transposed_args.hpp"
#include "tenon/kernels/conv/transposed_rows.hpp"
#include "tenon/kernels/conv/transposed_runs.hpp"
#include "tenon/kernels/gemm/pack.hpp"

namespace tenon::TENON_ABI::kernels::transposed_detail {

using conv_detail::keeps_order;
using conv_detail::kernel_cells;
using gemm_detail::block_depth;
using gemm_detail::pack_panel;
using gemm_detail::packed_size;
using sliding::step;

/// A transposed convolution in phases. A part is a combination of runs, one per axis: a convolution that
/// produces (groups, phases of the part, Cout / groups) planes, each a grid of the cells of a phase.
template <class Arch, class T>
class Phases {
 public:
  Phases(Scratch& scratch, const ConvTransposeArgs<T>& args)
      : g_(args), s_(args.geometry), group_out_(s_.out_channels / s_.groups) {
    Run* runs[max_spatial];
    int64_t count[max_spatial], at[max_spatial] = {};
    for (int d = 0; d < s_.rank; ++d) {
      ones_[d] = 1;
      runs[d] = scratch.take<Run>(s_.strides[d]);
      count[d] = list_runs(s_.kernel[d], s_.strides[d], s_.dilations[d], s_.pads[d],
                           joins_phases<Arch, T>(s_), runs[d]);
      parts_ *= count[d], phases_ *= s_.strides[d];
    }
    part_ = scratch.take<Part>(parts_);
    phase_ = scratch.take<Phase>(phases_);
    for (int64_t p = 0; p < parts_; ++p) {
      Part& q = part_[p];
      q.phases = 1;
      for (int d = 0; d < s_.rank; ++d) {
        const Run& run = runs[d][at[d]];
        q.kernel[d] = run.taps, q.pads[d] = run.pad, q.phases *= run.count;
      }
      q.geometry = s_;
      q.geometry.out_channels *= q.phases;
      q.geometry.kernel = q.kernel, q.geometry.strides = ones_;
      q.plane = planes_;
      q.plain = keeps_order<Arch, T>(q.geometry);
      q.weights = weight_size_;
      weight_size_ += conv_packed_weight_size_impl<Arch, T>(q.geometry);
      q.bias = g_.bias == nullptr ? nullptr : scratch.take<T>(q.geometry.out_channels);
      for (int64_t i = 0; q.bias != nullptr && i < s_.groups * q.phases; ++i)
        std::copy_n(g_.bias + i / q.phases * group_out_, group_out_, q.bias + i * group_out_);
      int64_t in_run[max_spatial] = {};
      for (int64_t i = 0; i < q.phases; ++i) {
        int64_t index = 0, first[max_spatial];  // kernel cells
        for (int d = 0; d < s_.rank; ++d) {
          const int64_t o = runs[d][at[d]].first + in_run[d];
          index = index * s_.strides[d] + o;
          first[d] = first_cell(o, s_.strides[d], s_.pads[d]);
        }
        phase_[index] = {p, i * group_out_, planes_ + i * group_out_, list_taps(scratch, q.kernel, first)};
        step<Arch>(s_.rank, in_run, [&](int d) { return runs[d][at[d]].count; });
      }
      planes_ += q.geometry.out_channels;
      step<Arch>(s_.rank, at, [&](int d) { return count[d]; });
    }
  }

  int64_t weight_size() const { return weight_size_; }

  /// Writes the weights of all parts. A few output and input channels at a time are transposed, so that
  /// output channels are neighbours.
  void pack(const T* w, T* packed) const {
    constexpr int64_t some_cells = cache_bytes::l1 / int64_t{sizeof(double)};
    const int64_t kernel = kernel_cells<Arch>(s_), group_in = s_.in_channels / s_.groups;
    const int64_t turns = (group_out_ + R - 1) / R, most = std::max<int64_t>(some_cells / (R * kernel), 1);
    const int64_t grain = task_work::cheap / (R * kernel * std::max<int64_t>(group_in, 1)) + 1;
    for (int64_t p = 0; p < parts_; ++p) {  // the last panel's padding
      const Part& q = part_[p];
      const int64_t depth = group_in * kernel_cells<Arch>(q.geometry), m = q.phases * group_out_;
      const int64_t block = block_depth<Single<T>, Arch>(depth);
      for (int64_t group = 0; !q.plain && m % R != 0 && group < s_.groups; ++group)
        for (int64_t p0 = 0; p0 < depth; p0 += block) {
          const int64_t width = std::min(block, depth - p0);
          std::fill_n(packed + q.weights + group * packed_size(m, R, depth) + packed_size(m, R, p0) +
                          m / R * R * width,
                      R * width, T{0});
        }
    }
    parallel_for(s_.groups * turns, grain, [&](int64_t begin, int64_t end) {
      Scratch own;
      T* turned = own.take<T>(most * kernel * R);
      for (int64_t task = begin; task < end; ++task) {
        const int64_t group = task / turns, co = task % turns * R,
                      rows = std::min<int64_t>(R, group_out_ - co);
        for (int64_t ci = 0; ci < group_in; ci += most) {
          const int64_t channels = std::min(most, group_in - ci);
          const T* from = w + ((group * group_in + ci) * group_out_ + co) * kernel;
          for (int64_t c = 0; c < channels; ++c)
            pack_panel<Arch, R>(from + c * group_out_ * kernel, kernel, int64_t{1}, rows, kernel,
                                turned + c * kernel * R);
          for (int64_t f = 0; f < phases_; ++f)
            write_weights(phase_[f], group, phase_[f].row + co, rows, ci, channels, turned, packed);
        }
      }
    });
  }

  void run(const T* packed) {
    packed_ = packed;
    for (int d = 0; d < s_.rank; ++d) grid_[d] = (s_.out[d] + s_.strides[d] - 1) / s_.strides[d];
    if (phases_ == 1) return convolve(part_[0], s_.batch, g_.x, grid_, 0, g_.y);
    // A task computes a slab of the first axis, whose sums stay in the second-level cache. If all slabs would
    // be small, the threads share the work on one.
    const int64_t row = product_of<Arch>(grid_ + 1, s_.rank - 1), threads = threads_at_hand();
    const auto rows_of = [&](int64_t cells) { return std::max<int64_t>(cells / row, 1); };
    constexpr int64_t most_sums = cache_bytes::l2 / int64_t{sizeof(double)};
    int64_t rows = rows_of(std::max<int64_t>(most_sums / planes_, least_cells));
    const auto slabs_of = [&] { return (grid_[0] + rows - 1) / rows; };
    if (threads > 1 && s_.batch * slabs_of() < 2 * threads)
      rows = std::max(rows_of(least_cells), std::min(rows, grid_[0] * s_.batch / (2 * threads)));
    rows = (grid_[0] - 1) / slabs_of() + 1;
    const int64_t slabs = slabs_of(), tasks = s_.batch * slabs;
    const auto make = [&](int64_t begin, int64_t end) {
      Scratch own;
      T* sums = own.take<T>(planes_ * rows * row);
      for (int64_t t = begin; t < end; ++t) make_slab(t / slabs, t % slabs * rows, rows, sums);
    };
    if (tasks < 2 * threads) make(0, tasks);
    else parallel_for(tasks, 1, make);
  }

 private:
  struct Part {
    int64_t kernel[max_spatial], pads[max_spatial];
    ConvGeometry geometry;  ///< except batch, extents and pads
    int64_t phases, plane;  ///< plane: the first among the planes of all parts
    bool plain;             ///< weights are not in panels
    int64_t weights;        ///< the first among the weights of all parts
    T* bias;                ///< or nullptr
  };
  struct Phase {
    int64_t part, row, plane;  ///< the first among the rows of the part's weights, and among all planes
    const int64_t* cells;      ///< of the kernel, one a tap
  };

  /// The kernel cells of a phase that sees `taps` per axis, every stride-th from `first` on, in reverse order
  /// compared to a convolution.
  const int64_t* list_taps(Scratch& scratch, const int64_t* taps, const int64_t* first) const {
    const int64_t count = product_of<Arch>(taps, s_.rank);
    int64_t* const cells = scratch.take<int64_t>(count);
    int64_t at[max_spatial] = {};
    for (int64_t t = 0; t < count; ++t) {
      cells[t] = 0;
      for (int d = 0; d < s_.rank; ++d)
        cells[t] = cells[t] * s_.kernel[d] + first[d] + (taps[d] - 1 - at[d]) * s_.strides[d];
      step<Arch>(s_.rank, at, [&](int d) { return taps[d]; });
    }
    return cells;
  }

  /// Writes the weights of the phase for rows [i, i + rows) and `channels` input channels from ci on.
  void write_weights(const Phase& f, int64_t group, int64_t i, int64_t rows, int64_t ci, int64_t channels,
                     const T* turned, T* packed) const {
    const Part& q = part_[f.part];
    const int64_t kernel = kernel_cells<Arch>(s_), taps = kernel_cells<Arch>(q.geometry);
    const int64_t depth = s_.in_channels / s_.groups * taps, m = q.phases * group_out_;
    if (q.plain) {
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t t = 0; t < taps; ++t)
            packed[q.weights + (group * m + i + r) * depth + (ci + c) * taps + t] =
                turned[(c * kernel + f.cells[t]) * R + r];
      return;
    }
    const int64_t block = block_depth<Single<T>, Arch>(depth);
    T* const of_group = packed + q.weights + group * packed_size(m, R, depth);
    for (int64_t r = 0, n = 0; r < rows; r += n) {
      const int64_t row = (i + r) % R;
      n = std::min(rows - r, R - row);
      const T* from = turned + r;
      T* to = nullptr;
      int64_t left = 0, t = 0;  // cells left in the block of K, tap of the channel
      for (int64_t p = ci * taps; p < (ci + channels) * taps; ++p, to += R, --left) {
        if (left == 0) {
          const int64_t p0 = p / block * block, width = std::min(block, depth - p0);
          to = of_group + packed_size(m, R, p0) + (i + r - row) * width + (p - p0) * R + row;
          left = p0 + width - p;
        }
        const T* cells = from + f.cells[t] * R;
        if (n == R) std::memcpy(to, cells, R * sizeof(T));
        else std::copy_n(cells, n, to);
        if (++t == taps) t = 0, from += kernel * R;
      }
    }
  }

  /// The convolution of a part, from row `first` of the grid on.
  void convolve(const Part& q, int64_t batch, const T* x, const int64_t* extents, int64_t first, T* y) const {
    int64_t pads[max_spatial];
    std::copy_n(q.pads, s_.rank, pads);
    pads[0] = q.pads[0] - first;
    ConvArgs<T> c;
    c.geometry = q.geometry;
    c.geometry.batch = batch, c.geometry.out = extents, c.geometry.pads = pads;
    c.x = x, c.packed_w = packed_ + q.weights, c.bias = q.bias, c.y = y;
    conv_impl<Arch>(c);
  }

  void make_slab(int64_t image, int64_t first, int64_t rows, T* sums) const {
    int64_t extents[max_spatial];
    std::copy_n(grid_, s_.rank, extents);
    extents[0] = std::min(rows, grid_[0] - first);
    const int64_t cells = product_of<Arch>(extents, s_.rank);
    const T* x = g_.x + image * s_.in_channels * product_of<Arch>(s_.in, s_.rank);
    const auto convolve_parts = [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        convolve(part_[p], 1, x, extents, first, sums + part_[p].plane * cells);
    };
    if (parts_ >= threads_at_hand()) parallel_for(parts_, 1, convolve_parts);
    else convolve_parts(0, parts_);
    const int64_t out = product_of<Arch>(s_.out, s_.rank);
    parallel_for(s_.out_channels, task_work::cheap / (cells * phases_) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        join(c, first, extents, cells, sums, g_.y + (image * s_.out_channels + c) * out);
    });
  }

  /// Interleaves the phases of output channel c.
  void join(int64_t c, int64_t first, const int64_t* extents, int64_t cells, const T* sums, T* y) const {
    const int inner = s_.rank - 1;
    const int64_t stride = s_.strides[inner], width = extents[inner];
    const int64_t begin = inner == 0 ? first * stride : 0,
                  n = std::min(s_.out[inner] - begin, width * stride);
    Scratch scratch;
    const T** from = scratch.take<const T*>(stride);
    int64_t start[max_spatial] = {first * s_.strides[0]};  // the outer phase, from the slab on
    for (int64_t f = 0; f < phases_; f += stride) {
      for (int64_t e = 0; e < stride; ++e) {
        const Phase& h = phase_[f + e];
        const int64_t of_group = part_[h.part].phases * group_out_;
        from[e] = sums + (h.plane + c / group_out_ * of_group + c % group_out_) * cells;
      }
      int64_t at[max_spatial] = {};
      for (int64_t r = 0; r < cells / width; ++r) {
        int64_t to = 0;
        bool inside = true;
        for (int d = 0; d < inner; ++d) {
          const int64_t o = at[d] * s_.strides[d] + start[d];
          inside = inside && o < s_.out[d];
          to = (to + o) * s_.out[d + 1];
        }
        if (inside) interleave<Arch>(from, stride, n, y + to + begin);
        for (int64_t e = 0; e < stride; ++e) from[e] += width;
        step<Arch>(inner, at, [&](int d) { return extents[d]; });
      }
      for (int d = inner - 1; d >= 0; --d) {
        const int64_t base = d == 0 ? first * s_.strides[0] : 0;
        if (++start[d] < base + s_.strides[d]) break;
        start[d] = base;
      }
    }
  }

  static constexpr int64_t least_cells = 192;  // of a slab, for whole panels of B
  static constexpr int R = Tile<Single<T>, Arch>::rows;

  const ConvTransposeArgs<T>& g_;
  const ConvGeometry& s_;
  int64_t group_out_;
  int64_t grid_[max_spatial], ones_[max_spatial];  // the outputs of a phase, some of them outside y
  int64_t parts_ = 1, phases_ = 1, planes_ = 0, weight_size_ = 0;
  const T* packed_ = nullptr;
  Part* part_;
  Phase* phase_;
};

}  // namespace tenon::TENON_ABI::kernels::transposed_detail
