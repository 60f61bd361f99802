// Transposed convolutions: what their two forms are made of.
//
// Scattered, the products of all kernel cells with an input cell are added where they belong in the output.
//
// In phases, output cells are sums from the start. The cells o of an axis with the same o % stride are a
// phase: they see every stride-th kernel cell, and neighbours see neighbouring input cells, so that a phase
// is a convolution with stride 1. Phases side by side that see the same input cells are a run, one
// convolution with as many times the output channels. The results of the phases are interleaved.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tenon/kernels/conv/sliding.hpp"
#include "tenon/simd/batch.hpp"

namespace tenon::kernels::transposed {

/// Phases [first, first + count) of an axis: each sees `taps` kernel cells, with a convolution's `pad`.
struct Run {
  int64_t first, count, taps, pad;
};

/// The first kernel cell that phase o of an axis sees.
constexpr int64_t first_cell(int64_t o, int64_t stride, int64_t pad) {
  return ((o + pad) % stride + stride) % stride;
}

/// Writes the runs of an axis, or with `join` unset a run for each phase, and returns their number. The
/// stride or the dilation is 1.
inline int64_t list_runs(int64_t kernel, int64_t stride, int64_t dilation, int64_t pad, bool join, Run* to) {
  int64_t runs = 0;
  for (int64_t o = 0; o < stride; ++o) {
    const int64_t first = first_cell(o, stride, pad), taps = (kernel - first + stride - 1) / stride;
    const int64_t before = (taps - 1) * dilation - (o + pad - first) / stride;
    if (join && runs > 0 && to[runs - 1].taps == taps && to[runs - 1].pad == before) ++to[runs - 1].count;
    else to[runs++] = {o, 1, taps, before};
  }
  return runs;
}

/// to[i] = from[i % count][i / count] for i < n.
template <class Arch, class T>
void interleave(const T* const* from, int64_t count, int64_t n, T* to) {
  constexpr int L = simd::lanes<T, Arch>;
  if (count == 1) return sliding::copy_strided<Arch>(from[0], 1, n, to);
  if constexpr (std::is_same_v<T, float>) {
    if (count == 2) {
      for (int64_t i = 0; i < n; i += 2 * L) {
        const int64_t evens = std::min<int64_t>((n - i + 1) / 2, L), odds = std::min<int64_t>((n - i) / 2, L);
        simd::batch<T, Arch> low, high;
        simd::join_pairs(simd::batch<T, Arch>(simd::load_n<Arch>(from[0] + i / 2, evens)),
                         simd::batch<T, Arch>(simd::load_n<Arch>(from[1] + i / 2, odds)), low, high);
        simd::store_n(to + i, low, std::min<int64_t>(n - i, L));
        if (n - i > L) simd::store_n(to + i + L, high, std::min<int64_t>(n - i - L, L));
      }
      return;
    }
  }
  for (int64_t r = 0; r < count; ++r)
    for (int64_t i = r, j = 0; i < n; i += count, ++j) to[i] = from[r][j];
}

/// y[i * stride] += x[i].
template <class Arch, class T>
inline void add_strided(const T* x, int64_t count, T* y, int64_t stride) {
  constexpr int L = simd::lanes<T, Arch>;
  if (stride == 1) {
    int64_t i = 0;
    for (; i + L <= count; i += L) simd::storeu(y + i, simd::loadu<Arch>(y + i) + simd::loadu<Arch>(x + i));
    for (; i < count; ++i) y[i] += x[i];
  } else {
    int64_t i = 0;
    if constexpr (std::is_same_v<T, float>) {
      // What is stored ends before the last number.
      for (simd::batch<T, Arch> low, high, even, odd; stride == 2 && i + L < count; i += L) {
        T* const to = y + 2 * i;
        simd::split_pairs(simd::batch<T, Arch>(simd::loadu<Arch>(to)),
                          simd::batch<T, Arch>(simd::loadu<Arch>(to + L)), even, odd);
        simd::join_pairs(simd::batch<T, Arch>(even + simd::loadu<Arch>(x + i)), odd, low, high);
        simd::storeu(to, low);
        simd::storeu(to + L, high);
      }
    }
    for (; i < count; ++i) y[i * stride] += x[i];
  }
}

/// Adds the row of products of one kernel cell, for input cells [begin, end), to its output plane.
template <class Arch, class T, class Geometry>
void scatter_row(const Geometry& g, const int64_t* kernel_at, const T* sums, int64_t begin, int64_t end,
                 T* plane) {
  using sliding::steps_to_zero;
  const int inner = g.rank - 1;
  const int64_t width = g.in[inner], stride = g.strides[inner];
  for (int64_t i = begin; i < end;) {
    const int64_t column = i % width, count = std::min(width - column, end - i);
    int64_t rest = i / width, to = 0, cells = g.out[inner];
    bool inside = true;
    for (int d = inner - 1; d >= 0; --d) {
      const int64_t o = rest % g.in[d] * g.strides[d] + kernel_at[d] * g.dilations[d] - g.pads[d];
      rest /= g.in[d];
      inside = inside && o >= 0 && o < g.out[d];
      to += o * cells;
      cells *= g.out[d];
    }
    if (inside) {
      const int64_t o = column * stride + kernel_at[inner] * g.dilations[inner] - g.pads[inner];
      const int64_t skip = std::min(steps_to_zero(o, stride), count);
      const int64_t stop = std::min(steps_to_zero(o - g.out[inner], stride), count);
      if (skip < stop)
        add_strided<Arch>(sums + (i - begin) + skip, stop - skip, plane + to + o + skip * stride, stride);
    }
    i += count;
  }
}

}  // namespace tenon::kernels::transposed
