// Convolutions over tensors of (N, C, spatial...): arguments and entries. Bodies: conv_impl.hpp.
#pragma once

#include <cstdint>

#include "tenon/kernels/conv/geometry.hpp"
#include "tenon/kernels/gemm/args.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

/// y = clamp(conv(x, w) + bias + add, lo, hi). T: float, double.
template <class T>
struct ConvArgs {
  ConvGeometry geometry;
  const T* x = nullptr;         ///< (N, Cin, in...)
  const T* w = nullptr;         ///< (Cout, Cin / groups, kernel...)
  const T* packed_w = nullptr;  ///< what conv_pack_weights wrote; `w` is then not read
  const T* bias = nullptr;      ///< (Cout) or nullptr
  const T* add = nullptr;       ///< a residual, (N, Cout, out...), or nullptr; may be y itself
  T* y = nullptr;               ///< (N, Cout, out...); must not overlap x or w
  T lo = no_lower_bound<T>;     ///< fused activation: Relu is lo = 0, Clip is both; a NaN stays NaN
  T hi = no_upper_bound<T>;
};

template <class Arch, class T>
void conv_impl(const ConvArgs<T>& args);
template <class Arch, class T>
int64_t conv_packed_weight_size_impl(const ConvGeometry& geometry);
template <class Arch, class T>
void conv_pack_weights_impl(const ConvGeometry& geometry, const T* w, T* packed);

/// Computes the convolution (a correlation, as ONNX has it). See ConvArgs.
template <class T>
inline void conv(const ConvArgs<T>& args) {
  simd::dispatch([&]<class Arch>(Arch) { conv_impl<Arch, T>(args); });
}

/// Elements of T that conv_pack_weights writes. Reads rank, groups, channels, kernel; depends on the level in
/// force.
template <class T>
inline int64_t conv_packed_weight_size(const ConvGeometry& geometry) {
  return simd::dispatch([&]<class Arch>(Arch) { return conv_packed_weight_size_impl<Arch, T>(geometry); });
}

/// Writes constant weights w (Cout, Cin / groups, kernel...) in the order in which conv reads them. Reads
/// rank, groups, channels and kernel: the packed form serves any input extents, strides, dilations and pads.
template <class T>
inline void conv_pack_weights(const ConvGeometry& geometry, const T* w, T* packed) {
  simd::dispatch([&]<class Arch>(Arch) { conv_pack_weights_impl<Arch, T>(geometry, w, packed); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/conv/conv_impl.hpp"
#endif
