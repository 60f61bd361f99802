// Convolutions of bytes over tensors of (N, H, W, C): arguments.
#pragma once

#include <cstdint>

#include "tenon/kernels/conv/conv.hpp"

namespace tenon::TENON_ABI::kernels {

/// Whether the convolution is depthwise: each of many channels has its own kernel.
inline bool is_depthwise_last(const ConvGeometry& g) {
  return g.groups >= 8 && g.groups == g.in_channels && g.groups == g.out_channels;
}

/// Whether quant_conv_last supports groups and channels, with a plain x or with one of (N, H, W, C). Reads
/// rank, groups, channels and dilations.
inline bool fits_conv_last(const ConvGeometry& g, bool plain_x) {
  if (is_depthwise_last(g)) return g.rank == 2 && !plain_x;
  return g.rank == 2 && g.groups == 1 && g.in_channels > 0 &&
         (plain_x ? g.in_channels <= 4 && g.dilations[1] == 1 : g.in_channels % 4 == 0);
}

/// A sum that follows a convolution: y = clamp(round(r + (z - z_zero) * z_rate) + zero, lo, hi), where r is
/// (y' - zero') * rate for the convolution's byte y'.
struct LastSum {
  const uint8_t* z = nullptr;  ///< like y; nullptr: no sum
  int32_t z_zero = 0;
  float rate = 1, z_rate = 1;
  int32_t zero = 0, lo = 0, hi = 255;
};

/// y = clamp(round((conv(x - x_zero, w) + bias) * scale) + zero, lo, hi), optionally followed by a sum.
/// Padded cells count as x_zero.
struct QuantConvLastArgs {
  ConvGeometry geometry;    ///< see fits_conv_last
  bool plain_x = false;     ///< x is (N, Cin, H, W), Cin <= 4
  bool x_signed = false;    ///< the bytes of a plain x are signed
  const void* x = nullptr;  ///< (N, H, W, Cin)
  int32_t x_zero = 0;       ///< in the unsigned range
  const int32_t* packed_w = nullptr;
  const float* scale = nullptr;  ///< (Cout), less than 1
  int32_t zero = 0, lo = 0, hi = 255;
  LastSum sum;           ///< none in depthwise convolutions
  uint8_t* y = nullptr;  ///< (N, H, W, Cout)
};

}  // namespace tenon::TENON_ABI::kernels
