// Bodies of requantize.hpp. The compiler makes vector code of the level from plain loops.
#pragma once

#include "tenon/kernels/requantize.hpp"

namespace tenon::kernels {

template <class Arch, class T>
void requantize_row_impl(const int32_t* __restrict x, int64_t n, float rate,
                         const float* __restrict col_scale, T zero, T lo, T hi, T* __restrict y) {
  // Bounds come before rounding: they are whole numbers, and bounded numbers are small enough for the sum
  // with `magic` to round. NaN gives the lower bound.
  constexpr float magic = 0x1.8p23f;
  const float shift = static_cast<float>(zero);
  const float least = static_cast<float>(lo) - shift;
  const float most = static_cast<float>(hi) - shift;
  const auto narrowed = [=](float q) {
    q = q > least ? q : least;
    q = q < most ? q : most;
    q = (q + magic) - magic + shift;
    return static_cast<T>(static_cast<int32_t>(q));
  };
  if (col_scale == nullptr)
    for (int64_t i = 0; i < n; ++i) y[i] = narrowed(static_cast<float>(x[i]) * rate);
  else
    for (int64_t i = 0; i < n; ++i) y[i] = narrowed(static_cast<float>(x[i]) * (rate * col_scale[i]));
}

template <class Arch>
void add_bytes_impl(const AddBytesArgs& g, int64_t begin, int64_t end) {
  constexpr float magic = 0x1.8p23f;
  const auto* a = static_cast<const uint8_t*>(g.a.data);
  const auto* b = static_cast<const uint8_t*>(g.b.data);
  auto* y = static_cast<uint8_t*>(g.y);
  // Signed bytes are raised by 128, and so are their zero points.
  const int32_t a_flip = g.a.is_signed ? 128 : 0, b_flip = g.b.is_signed ? 128 : 0;
  const auto a_zero = static_cast<float>(g.a.zero + a_flip), b_zero = static_cast<float>(g.b.zero + b_flip);
  const float a_rate = g.a.scale / g.scale, b_rate = g.b.scale / g.scale;
  const auto shift = static_cast<float>(g.zero);
  const float least = static_cast<float>(g.lo) - shift, most = static_cast<float>(g.hi) - shift;
  // Blocks of a known length, through panels of their own: y may be an operand.
  constexpr int64_t panel = 64;
  alignas(64) uint8_t pa[panel], pb[panel], py[panel];
  for (int64_t i = begin; i < end; i += panel) {
    const auto count = static_cast<std::size_t>(std::min(panel, end - i));
    __builtin_memcpy(pa, a + i, count);
    __builtin_memcpy(pb, b + i, count);
    for (int64_t e = 0; e < panel; ++e) {
      const auto u = static_cast<float>(pa[e] ^ a_flip), v = static_cast<float>(pb[e] ^ b_flip);
      float q = (u - a_zero) * a_rate + (v - b_zero) * b_rate;
      q = q > least ? q : least;
      q = q < most ? q : most;
      q = (q + magic) - magic + shift;
      py[e] = static_cast<uint8_t>(static_cast<int32_t>(q));
    }
    __builtin_memcpy(y + i, py, count);
  }
}

}  // namespace tenon::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::kernels {

template void requantize_row_impl<TENON_INSTANTIATE>(const int32_t*, int64_t, float, const float*, int8_t,
                                                     int8_t, int8_t, int8_t*);
template void requantize_row_impl<TENON_INSTANTIATE>(const int32_t*, int64_t, float, const float*, uint8_t,
                                                     uint8_t, uint8_t, uint8_t*);
template void add_bytes_impl<TENON_INSTANTIATE>(const AddBytesArgs&, int64_t, int64_t);

}  // namespace tenon::kernels
#endif
