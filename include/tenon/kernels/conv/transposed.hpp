// Transposed convolutions over tensors of (N, C, spatial...): arguments and entry. Bodies:
// transposed_impl.hpp.
#pragma once

#include "tenon/kernels/conv/conv.hpp"

namespace tenon::kernels {

/// The transposed convolution: input cell i and kernel cell k of an axis add to output cell i * stride + k *
/// dilation - pad if that cell exists. `geometry.in` has the extents of x, `geometry.out` the extents of y.
template <class T>
struct ConvTransposeArgs {
  ConvGeometry geometry;
  const T* x = nullptr;     ///< (N, Cin, in...)
  const T* w = nullptr;     ///< (Cin, Cout / groups, kernel...)
  const T* bias = nullptr;  ///< (Cout) or nullptr
  T* y = nullptr;           ///< (N, Cout, out...); must not overlap x or w
};

template <class Arch, class T>
void conv_transpose_impl(const ConvTransposeArgs<T>& args);

/// Computes the transposed convolution. See ConvTransposeArgs. T: float, double.
template <class T>
inline void conv_transpose(const ConvTransposeArgs<T>& args) {
  simd::dispatch([&]<class Arch>(Arch) { conv_transpose_impl<Arch, T>(args); });
}

}  // namespace tenon::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/conv/transposed_impl.hpp"
#endif
