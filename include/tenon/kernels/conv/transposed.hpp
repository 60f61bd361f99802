// Transposed convolutions over tensors of (N, C, spatial...): entries. Bodies: transposed_impl.hpp.
#pragma once

#include "tenon/kernels/conv/transposed_args.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

template <class Arch, class T>
void conv_transpose_impl(const ConvTransposeArgs<T>& args);
template <class Arch, class T>
int64_t conv_transpose_packed_weight_size_impl(const ConvGeometry& geometry);
template <class Arch, class T>
bool conv_transpose_pack_weights_impl(const ConvGeometry& geometry, const T* w, T* packed);

/// Computes the transposed convolution. See ConvTransposeArgs. T: float, double.
template <class T>
inline void conv_transpose(const ConvTransposeArgs<T>& args) {
  simd::dispatch([&]<class Arch>(Arch) { conv_transpose_impl<Arch, T>(args); });
}

/// Elements of T that conv_transpose_pack_weights writes; 0 if weights are read in place. Reads all but
/// `batch`. Without `in` and `out`, 0 if weights are read in place for all extents. Depends on the level in
/// force.
template <class T>
inline int64_t conv_transpose_packed_weight_size(const ConvGeometry& geometry) {
  return simd::dispatch(
      [&]<class Arch>(Arch) { return conv_transpose_packed_weight_size_impl<Arch, T>(geometry); });
}

/// Writes constant weights w (Cin, Cout / groups, kernel...) in the order in which conv_transpose reads them.
/// Reads rank, groups, channels, kernel, strides, dilations and pads: the packed form serves any extents.
/// False if a weight is not finite; then there is no packed form.
template <class T>
inline bool conv_transpose_pack_weights(const ConvGeometry& geometry, const T* w, T* packed) {
  return simd::dispatch(
      [&]<class Arch>(Arch) { return conv_transpose_pack_weights_impl<Arch, T>(geometry, w, packed); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/conv/transposed_impl.hpp"
#endif
