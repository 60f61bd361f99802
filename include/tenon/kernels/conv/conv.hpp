// Convolutions over tensors of (N, C, spatial...): arguments and entries. Bodies: conv_impl.hpp.
#pragma once

#include <cstdint>

#include "tenon/kernels/gemm/gemm.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::kernels {

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
#include "tenon/kernels/conv/conv_impl.hpp"
#endif
