// Convolutions of 8-bit integers: arguments and entries. Bodies: quant_conv_impl.hpp.
#pragma once

#include <cstdint>

#include "tenon/kernels/conv/conv.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::kernels {

/// Bytes made of 32-bit sums: clamp(round(sum * scale) + zero, lo, hi), rounded to nearest, ties to even.
struct ByteResult {
  void* y = nullptr;             ///< int8_t or uint8_t
  const float* scale = nullptr;  ///< (Cout)
  int32_t zero = 0;
  int32_t lo = 0, hi = 255;  ///< within the range of the type of y: Relu is lo = zero
};

/// y = conv(x - x_zero, w - w_zero) + bias in int32 (which wraps), or bytes made of it. Padded cells count as
/// x_zero, so they add nothing.
struct QuantConvArgs {
  ConvGeometry geometry;
  const void* x = nullptr;  ///< (N, Cin, in...), int8_t or uint8_t
  bool x_signed = false;
  int32_t x_zero = 0;
  const void* w = nullptr;  ///< (Cout, Cin / groups, kernel...), int8_t or uint8_t
  bool w_signed = false;
  const void* w_zero = nullptr;       ///< of the type of w; nullptr: zero
  int64_t w_zero_step = 0;            ///< 0: one zero point; 1: one for each output channel
  const int32_t* packed_w = nullptr;  ///< what quant_conv_pack_weights wrote; w and w_zero are then not read
  const int32_t* bias = nullptr;      ///< (Cout) or nullptr
  int32_t* y = nullptr;               ///< (N, Cout, out...), or nullptr: bytes are wanted
  ByteResult bytes;
};

template <class Arch>
void quant_conv_impl(const QuantConvArgs& args);
template <class Arch>
int64_t quant_conv_packed_weight_size_impl(const QuantConvArgs& args);
template <class Arch>
void quant_conv_pack_weights_impl(const QuantConvArgs& args, int32_t* packed);

/// Computes the integer convolution. See QuantConvArgs.
inline void quant_conv(const QuantConvArgs& args) {
  simd::dispatch([&]<class Arch>(Arch) { quant_conv_impl<Arch>(args); });
}

/// Elements of int32_t that quant_conv_pack_weights writes. Reads the weights, and rank, groups, channels and
/// kernel of the geometry; depends on the level in force.
inline int64_t quant_conv_packed_weight_size(const QuantConvArgs& args) {
  return simd::dispatch([&]<class Arch>(Arch) { return quant_conv_packed_weight_size_impl<Arch>(args); });
}

/// Writes the weights of `args` and their zero points in the order in which quant_conv reads them. The packed
/// form serves any input extents, strides, dilations and pads.
inline void quant_conv_pack_weights(const QuantConvArgs& args, int32_t* packed) {
  simd::dispatch([&]<class Arch>(Arch) { quant_conv_pack_weights_impl<Arch>(args, packed); });
}

}  // namespace tenon::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/conv/quant_conv_impl.hpp"
#endif
