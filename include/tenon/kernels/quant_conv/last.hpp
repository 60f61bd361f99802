// Convolutions of bytes over tensors of (N, H, W, C): entries. Neighbouring output channels are lanes, and
// four neighbouring input channels are a word, so nothing is gathered or copied, whatever the kernel and the
// width of an image. Bytes are unsigned: signed ones and their zero points are raised by 128. Bodies:
// last_impl.hpp.
#pragma once

#include "tenon/kernels/quant_conv/last_args.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

template <class Arch>
bool fast_conv_last_impl();
template <class Arch>
int64_t quant_conv_last_weight_size_impl(const ConvGeometry& geometry, bool plain_x, const int8_t* w);
template <class Arch>
void quant_conv_last_pack_impl(const ConvGeometry& geometry, bool plain_x, const int8_t* w,
                               const int32_t* bias, int32_t x_zero, int32_t* packed);
template <class Arch>
void quant_conv_last_impl(const QuantConvLastArgs& args);

/// Whether the level in force has fast kernels for these convolutions.
inline bool fast_conv_last() {
  return simd::dispatch([]<class Arch>(Arch) { return fast_conv_last_impl<Arch>(); });
}

/// Elements of int32_t that quant_conv_last_pack writes for weights w. Reads channels and kernel.
inline int64_t quant_conv_last_weight_size(const ConvGeometry& geometry, bool plain_x, const int8_t* w) {
  return simd::dispatch(
      [&]<class Arch>(Arch) { return quant_conv_last_weight_size_impl<Arch>(geometry, plain_x, w); });
}

/// Writes weights w (Cout, Cin, kernel), a bias of (Cout) or nullptr, and the zero point of x in the order in
/// which quant_conv_last reads them.
inline void quant_conv_last_pack(const ConvGeometry& geometry, bool plain_x, const int8_t* w,
                                 const int32_t* bias, int32_t x_zero, int32_t* packed) {
  simd::dispatch(
      [&]<class Arch>(Arch) { quant_conv_last_pack_impl<Arch>(geometry, plain_x, w, bias, x_zero, packed); });
}

/// Computes the convolution. See QuantConvLastArgs.
inline void quant_conv_last(const QuantConvLastArgs& args) {
  simd::dispatch([&]<class Arch>(Arch) { quant_conv_last_impl<Arch>(args); });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/quant_conv/last_impl.hpp"
#endif
