// Transposed convolutions in phases: which phases of an axis form one convolution, and whether a convolution
// is computed in phases.
//
// The cells o of an axis of the output with the same o % stride are a phase: they see every stride-th kernel
// cell, and neighbours see neighbouring input cells, so that a phase is a convolution with stride 1. Adjacent
// phases that see the same input cells form a run, a single convolution with a multiple of the output
// channels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/kernels/conv/conv.hpp"
#include "tenon/kernels/gemm/tile.hpp"

namespace tenon::TENON_ABI::kernels::transposed_detail {

using conv_detail::product_of;
using gemm_detail::Single;
using gemm_detail::Tile;

/// Phases [first, first + count) of an axis: each sees `taps` kernel cells, with a convolution's `pad`.
struct Run {
  int64_t first, count, taps, pad;
};

/// The first kernel cell that phase o of an axis sees.
constexpr int64_t first_cell(int64_t o, int64_t stride, int64_t pad) {
  return ((o + pad) % stride + stride) % stride;
}

/// Writes the runs of an axis, or without `join` one run per phase, and returns their number. The stride or
/// the dilation is 1.
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

/// Whether phases that see the same input cells form one convolution: its rows of weights begin at whole
/// panels, or are few.
template <class Arch, class T>
bool joins_phases(const ConvGeometry& g) {
  const int64_t channels = g.out_channels / g.groups;
  return channels < 128 || channels % Tile<Single<T>, Arch>::rows == 0;
}

/// Whether a transposed convolution is computed in phases: each sees a kernel cell, and windows are the
/// input's cells, or have enough output channels to pay for gathering and lie mostly inside the input.
/// Without extents, whether this holds for some.
template <class Arch>
bool fits_phases(const ConvGeometry& g) {
  const int64_t group_in = g.in_channels / g.groups, group_out = g.out_channels / g.groups;
  bool cells = true;
  for (int d = 0; d < g.rank; ++d) {
    if (g.kernel[d] < g.strides[d] || (g.strides[d] > 1 && g.dilations[d] > 1)) return false;
    cells = cells && g.kernel[d] == g.strides[d] && g.pads[d] == 0;
  }
  if (cells) return true;
  if (group_out < std::min(group_in, std::max<int64_t>(group_in / 2, 16))) return false;
  if (g.in == nullptr) return true;
  int64_t grid = 1;
  for (int d = 0; d < g.rank; ++d) grid *= (g.out[d] + g.strides[d] - 1) / g.strides[d];
  return grid <= 2 * product_of<Arch>(g.in, g.rank);
}

/// Whether all weights are finite: phases multiply weights by the zeros around the input, which ONNX does not
/// do.
template <class Arch, class T>
bool weights_are_finite(const ConvGeometry& s, const T* w) {
  const int64_t count = s.in_channels * (s.out_channels / s.groups) * product_of<Arch>(s.kernel, s.rank);
  int finite = 1;
  for (int64_t i = 0; i < count; ++i) finite &= static_cast<int>(w[i] - w[i] == T{0});
  return finite != 0;
}

}  // namespace tenon::TENON_ABI::kernels::transposed_detail
