// Transposed convolutions: the products of all kernel cells with an input cell are added to their places in
// the output.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/conv/conv.hpp"
#include "tenon/kernels/conv/sliding.hpp"
#include "tenon/kernels/conv/transposed_args.hpp"
#include "tenon/kernels/conv/transposed_rows.hpp"
#include "tenon/kernels/gemm/gemm.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::TENON_ABI::kernels::transposed_detail {

using conv_detail::kernel_cells;
using conv_detail::product_of;
using sliding::fill_run;
using sliding::step;
using sliding::steps_to_zero;

/// Adds the row of products of one kernel cell, for input cells [begin, end), to its output plane.
template <class Arch, class T, class Geometry>
void scatter_row(const Geometry& g, const int64_t* kernel_at, const T* sums, int64_t begin, int64_t end,
                 T* plane) {
  const int inner = g.rank - 1;
  const int64_t width = g.in[inner], stride = g.strides[inner];
  // The output column of input column 0, and the input columns whose output columns exist.
  const int64_t zero = kernel_at[inner] * g.dilations[inner] - g.pads[inner];
  const int64_t low = steps_to_zero(zero, stride), high = steps_to_zero(zero - g.out[inner], stride);
  int64_t at[max_spatial], rest = begin / width, column = begin % width;
  for (int d = inner - 1; d >= 0; rest /= g.in[d--]) at[d] = rest % g.in[d];
  for (int64_t i = begin; i < end; column = 0) {
    const int64_t count = std::min(width - column, end - i);
    int64_t row = 0;
    bool inside = true;
    for (int d = 0; d < inner; ++d) {
      const int64_t o = at[d] * g.strides[d] + kernel_at[d] * g.dilations[d] - g.pads[d];
      inside = inside && o >= 0 && o < g.out[d];
      row = row * g.out[d] + o;
    }
    const int64_t first = std::max(low, column), last = std::min(high, column + count);
    if (inside && first < last)
      add_strided<Arch>(sums + (i - begin) + (first - column), last - first,
                        plane + row * g.out[inner] + zero + first * stride, stride);
    i += count;
    step<Arch>(inner, at, [&](int d) { return g.in[d]; });
  }
}

/// Lanes of `count` whose input column, `from` for lane 0, exists.
template <class Arch>
uint64_t columns_inside(int64_t from, int64_t width, int64_t count) {
  const int64_t head = std::clamp<int64_t>(-from, 0, count), end = std::clamp(width - from, head, count);
  return head < end ? (~uint64_t{0} >> (64 - (end - head))) << head : 0;
}

/// A plane of the output, where the innermost stride is 1: its vectors add up the contributions of the rows
/// of products of all kernel cells, `sums` (kernel..., in...), in the order of scatter_row.
template <class Arch, class T, class Geometry>
void gather_plane(const Geometry& g, const T* sums, T bias, T* plane) {
  using V = simd::batch<T, Arch>;
  constexpr int64_t L = simd::lanes<T, Arch>;
  const int inner = g.rank - 1;
  const int64_t width = g.in[inner], columns = g.out[inner], taps = g.kernel[inner];
  const int64_t in = product_of<Arch>(g.in, g.rank), rows = product_of<Arch>(g.out, inner);
  const int64_t outer_kernel = product_of<Arch>(g.kernel, inner), vectors = (columns + L - 1) / L;
  Scratch scratch;
  uint64_t* const inside = scratch.take<uint64_t>(vectors * taps);
  for (int64_t v = 0; v < vectors; ++v)
    for (int64_t k = 0; k < taps; ++k)
      inside[v * taps + k] = columns_inside<Arch>(v * L - k * g.dilations[inner] + g.pads[inner], width, L);
  const T** const seen = scratch.take<const T*>(outer_kernel);  // input rows, at column 0 of the output
  int64_t at[max_spatial] = {};
  for (int64_t r = 0; r < rows; ++r) {
    int64_t kernel_at[max_spatial] = {}, count = 0;
    for (int64_t k = 0; k < outer_kernel; ++k) {
      int64_t row = 0;
      bool exists = true;
      for (int d = 0; d < inner; ++d) {
        const int64_t i = at[d] + g.pads[d] - kernel_at[d] * g.dilations[d],
                      x = g.strides[d] == 1 ? i : i / g.strides[d];
        exists = exists && i >= 0 && x * g.strides[d] == i && x < g.in[d];
        row = row * g.in[d] + x;
      }
      if (exists) seen[count++] = sums + k * taps * in + row * width + g.pads[inner];
      step<Arch>(inner, kernel_at, [&](int d) { return g.kernel[d]; });
    }
    T* const to = plane + r * columns;
    for (int64_t v = 0; v < vectors; ++v) {
      V sum(bias);
      for (int64_t s = 0; s < count; ++s) {
        const T* from = seen[s] + v * L;
        for (int64_t k = 0; k < taps; ++k, from += in - g.dilations[inner])
          sum = sum + simd::load_masked<Arch>(from, inside[v * taps + k], T{0});
      }
      simd::store_n(to + v * L, sum, std::min<int64_t>(L, columns - v * L));
    }
    step<Arch>(inner, at, [&](int d) { return g.out[d]; });
  }
}

template <class Arch, class T>
void transpose_scattered(const ConvTransposeArgs<T>& g) {
  const ConvGeometry& s = g.geometry;
  const int64_t in = product_of<Arch>(s.in, s.rank), out = product_of<Arch>(s.out, s.rank);
  const int64_t kernel = kernel_cells<Arch>(s);
  const int64_t group_in = s.in_channels / s.groups, group_out = s.out_channels / s.groups;
  // A task owns some output channels of an image. It multiplies about 128 rows (one per channel and kernel
  // cell) by a piece of the input that fits into the second-level cache, and adds the products to the
  // channels' planes.
  const int64_t threads = threads_at_hand(), items = s.batch * s.groups;
  const int64_t shares = threads > 1 ? (2 * threads + items - 1) / items : 1;  // of an item, at least
  const int64_t most = std::clamp<int64_t>(128 / std::max<int64_t>(kernel, 1), 1, group_out);
  const int64_t channels = std::min(most, (group_out + shares - 1) / shares);
  const int64_t blocks = (group_out + channels - 1) / channels;
  const auto piece_of = [&](int64_t together) {
    constexpr int64_t cells = cache_bytes::l2 / int64_t{sizeof(double)};
    return std::clamp<int64_t>(cells / std::max<int64_t>(together * kernel, 1), 64,
                               std::max<int64_t>(in, 64));
  };
  const int64_t piece = piece_of(channels);
  // Whole planes are gathered by masked vectors, because adding to recently stored values would stall: for
  // any number of threads, because the sign of a zero may differ.
  const bool gathers = simd::has_masks<Arch> && s.strides[s.rank - 1] == 1 && in > 0 && piece_of(most) >= in;
  parallel_for(s.batch * s.groups * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t item = t / blocks, group = item % s.groups, first = t % blocks * channels;
      const int64_t count = std::min(channels, group_out - first);
      T* y = g.y + (item * group_out + first) * out;
      const auto bias = [&](int64_t c) {
        return g.bias != nullptr ? g.bias[group * group_out + first + c] : T{0};
      };
      for (int64_t c = 0; c < count && !gathers; ++c) fill_run<Arch>(y + c * out, out, bias(c));
      Scratch scratch;
      T* sums = scratch.take<T>(count * kernel * std::min(piece, in));
      for (int64_t i = 0; i < in; i += piece) {
        const int64_t i_end = std::min(i + piece, in);
        GemmArgs<T> product;
        product.m = count * kernel, product.n = i_end - i, product.k = group_in;
        product.a = g.w + (group * group_in * group_out + first) * kernel;
        product.a_row = 1, product.a_col = group_out * kernel;
        product.b = g.x + item * group_in * in + i, product.b_row = in;
        product.c = sums, product.c_row = i_end - i;
        gemm_impl<Arch>(product);
        if (gathers) {
          for (int64_t c = 0; c < count; ++c)
            gather_plane<Arch>(s, sums + c * kernel * in, bias(c), y + c * out);
          break;
        }
        int64_t at[max_spatial] = {};
        for (int64_t k = 0; k < kernel; ++k) {
          for (int64_t c = 0; c < count; ++c)
            scatter_row<Arch>(s, at, sums + (c * kernel + k) * (i_end - i), i, i_end, y + c * out);
          step<Arch>(s.rank, at, [&](int d) { return s.kernel[d]; });
        }
      }
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels::transposed_detail
