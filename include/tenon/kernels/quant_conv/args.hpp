// Convolutions of 8-bit integers: arguments.
#pragma once

#include <cstdint>

#include "tenon/kernels/conv/geometry.hpp"

namespace tenon::TENON_ABI::kernels {

/// Requantises 32-bit sums to bytes: clamp(round(sum * scale) + zero, lo, hi), rounded to nearest, ties to
/// even.
struct ByteResult {
  void* y = nullptr;             ///< int8_t or uint8_t
  const float* scale = nullptr;  ///< (Cout)
  int32_t zero = 0;
  int32_t lo = 0, hi = 255;  ///< within the range of the type of y: Relu is lo = zero
};

/// y = conv(x - x_zero, w - w_zero) + bias in int32 (which wraps), or requantised to bytes. Padded cells
/// count as x_zero, so they add nothing.
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
  int32_t* y = nullptr;               ///< (N, Cout, out...), or nullptr: write bytes
  ByteResult bytes;
};

}  // namespace tenon::TENON_ABI::kernels
