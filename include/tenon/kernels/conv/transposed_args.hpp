// Transposed convolutions over tensors of (N, C, spatial...): arguments.
#pragma once

#include "tenon/kernels/conv/geometry.hpp"

namespace tenon::TENON_ABI::kernels {

/// The transposed convolution: input cell i and kernel cell k of an axis add to output cell i * stride + k *
/// dilation - pad if that cell exists. `geometry.in` has the extents of x, `geometry.out` the extents of y.
template <class T>
struct ConvTransposeArgs {
  ConvGeometry geometry;
  const T* x = nullptr;         ///< (N, Cin, in...)
  const T* w = nullptr;         ///< (Cin, Cout / groups, kernel...)
  const T* packed_w = nullptr;  ///< what conv_transpose_pack_weights wrote; `w` is then read only where the
                                ///< size of packed weights is 0 for the geometry
  const T* bias = nullptr;      ///< (Cout) or nullptr
  T* y = nullptr;               ///< (N, Cout, out...); must not overlap x or w
};

}  // namespace tenon::TENON_ABI::kernels
