// The geometry of windows, and its consequences for the weights of convolutions.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::kernels {

/// The geometry of windows: output cell o and kernel cell k of an axis see input cell o * stride + k *
/// dilation - pad. Cells outside of the input count as zero. `pad` is the padding at the start; the padding
/// at the end follows from the output extents, which the caller gives.
struct ConvGeometry {
  int rank = 0;                        ///< spatial axes, 1 to max_spatial
  int64_t batch = 0;                   ///< N
  int64_t groups = 1;                  ///< divides both channel counts
  int64_t in_channels = 0;             ///< Cin, of all groups
  int64_t out_channels = 0;            ///< Cout, of all groups
  const int64_t* in = nullptr;         ///< [rank] spatial extents of the input
  const int64_t* out = nullptr;        ///< [rank] spatial extents of the output
  const int64_t* kernel = nullptr;     ///< [rank]
  const int64_t* strides = nullptr;    ///< [rank], >= 1
  const int64_t* dilations = nullptr;  ///< [rank], >= 1
  const int64_t* pads = nullptr;       ///< [rank], at the start of each axis; may be negative
};

}  // namespace tenon::TENON_ABI::kernels

namespace tenon::TENON_ABI::kernels::conv_detail {

template <class Arch>
int64_t product_of(const int64_t* extents, int rank) {
  int64_t cells = 1;
  for (int d = 0; d < rank; ++d) cells *= extents[d];
  return cells;
}

template <class Arch>
int64_t kernel_cells(const ConvGeometry& g) {
  return product_of<Arch>(g.kernel, g.rank);
}

/// Whether each group has one input channel and few output channels: a product would have almost no rows.
template <class Arch>
bool depthwise(const ConvGeometry& g) {
  return g.in_channels == g.groups && g.out_channels < 4 * g.groups;
}

/// Whether planes.hpp has a kernel for these weights.
template <class Arch, class T>
bool fits_planes(const ConvGeometry& g) {
  return std::is_same_v<T, float> && g.rank == 2 && g.kernel[0] == g.kernel[1] &&
         (g.kernel[0] == 3 || g.kernel[0] == 5 || g.kernel[0] == 7) && g.in_channels >= g.groups &&
         g.out_channels < 4 * g.groups;
}

/// Whether the packed weights are in the order of the plain ones.
template <class Arch, class T>
bool keeps_order(const ConvGeometry& g) {
  return depthwise<Arch>(g) || fits_planes<Arch, T>(g);
}

}  // namespace tenon::TENON_ABI::kernels::conv_detail
