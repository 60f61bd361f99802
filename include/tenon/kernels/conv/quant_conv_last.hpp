// Convolutions of bytes over tensors of (N, H, W, C): arguments and entries. Neighbouring output channels are
// lanes, and four neighbouring input channels are a word, so nothing is gathered or copied, whatever the
// kernel and the width of an image. Bytes are unsigned: signed ones are raised by 128, and so are their zero
// points. Bodies: quant_conv_last_impl.hpp.
#pragma once

#include "tenon/kernels/conv/quant_conv.hpp"

namespace tenon::kernels {

/// A sum that follows a convolution: y = clamp(round(r + (z - z_zero) * z_rate) + zero, lo, hi), where r is
/// (y' - zero') * rate of the convolution's byte y'.
struct LastSum {
  const uint8_t* z = nullptr;  ///< like y; nullptr: no sum
  int32_t z_zero = 0;
  float rate = 1, z_rate = 1;
  int32_t zero = 0, lo = 0, hi = 255;
};

/// y = clamp(round((conv(x - x_zero, w) + bias) * scale) + zero, lo, hi), then perhaps a sum. Padded cells
/// count as x_zero.
struct QuantConvLastArgs {
  ConvGeometry geometry;    ///< see fits_conv_last
  bool plain_x = false;     ///< x is (N, Cin, H, W), Cin <= 4
  bool x_signed = false;    ///< the bytes of a plain x are signed
  const void* x = nullptr;  ///< (N, H, W, Cin)
  int32_t x_zero = 0;       ///< of the unsigned range
  const int32_t* packed_w = nullptr;
  const float* scale = nullptr;  ///< (Cout), less than 1
  int32_t zero = 0, lo = 0, hi = 255;
  LastSum sum;
  uint8_t* y = nullptr;  ///< (N, H, W, Cout)
};

/// Whether quant_conv_last takes groups and channels, with a plain x or with one of (N, H, W, C). Reads rank,
/// groups, channels and dilations.
inline bool fits_conv_last(const ConvGeometry& g, bool plain_x) {
  return g.rank == 2 && g.groups == 1 && g.out_channels % 16 == 0 && g.in_channels > 0 &&
         (plain_x ? g.in_channels <= 4 && g.dilations[1] == 1 : g.in_channels % 4 == 0);
}

template <class Arch>
bool fast_conv_last_impl();
template <class Arch>
int64_t quant_conv_last_weight_size_impl(const ConvGeometry& geometry, bool plain_x);
template <class Arch>
void quant_conv_last_pack_impl(const ConvGeometry& geometry, bool plain_x, const int8_t* w,
                               const int32_t* bias, int32_t x_zero, int32_t* packed);
template <class Arch>
void quant_conv_last_impl(const QuantConvLastArgs& args);

/// Whether the level in force has instructions for quant_conv_last.
inline bool fast_conv_last() {
  return simd::dispatch([]<class Arch>(Arch) { return fast_conv_last_impl<Arch>(); });
}

/// Elements of int32_t that quant_conv_last_pack writes. Reads channels and kernel.
inline int64_t quant_conv_last_weight_size(const ConvGeometry& geometry, bool plain_x) {
  return simd::dispatch(
      [&]<class Arch>(Arch) { return quant_conv_last_weight_size_impl<Arch>(geometry, plain_x); });
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

}  // namespace tenon::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/conv/quant_conv_last_impl.hpp"
#endif
