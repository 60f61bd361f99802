// Bodies of quantize.hpp. Panels have a known length: the compiler makes vector code of the level from plain
// loops.
#pragma once

#include "tenon/kernels/quantize.hpp"
#include "tenon/simd/batch.hpp"
#include "tenon/simd/half.hpp"

namespace tenon::kernels {

template <class Arch, class T>
void quantize_panel_impl(const float* __restrict x, const float* __restrict scale,
                         const float* __restrict zero, float low, float high, T* __restrict y) {
  for (int64_t i = 0; i < detail::quant_panel; ++i) {
    // Bounds come before rounding: they are whole numbers, and bounded numbers are small enough to round. NaN
    // gives the lower bound.
    const float least = low - zero[i], most = high - zero[i];
    float q = x[i] / scale[i];
    q = q > least ? q : least;
    q = q < most ? q : most;
    q = detail::round_even<Arch>(q) + zero[i];
    if constexpr (std::is_same_v<T, float>) y[i] = q;
    else y[i] = static_cast<T>(static_cast<int32_t>(q));
  }
}

template <class Arch, class T>
void dequantize_panel_impl(const T* __restrict x, const float* __restrict zero, const float* __restrict scale,
                           float* __restrict y) {
  for (int64_t i = 0; i < detail::quant_panel; ++i) y[i] = (static_cast<float>(x[i]) - zero[i]) * scale[i];
}

template <class Arch, class T>
void dequantize_bytes_impl(const T* __restrict x, int64_t n, float zero, float scale, float* __restrict y) {
  const auto run = [&](int64_t at, int64_t count) {
    for (int64_t i = at; i < at + count; ++i) y[i] = (static_cast<float>(x[i]) - zero) * scale;
  };
  int64_t i = 0;
  for (; i + detail::quant_panel <= n; i += detail::quant_panel) run(i, detail::quant_panel);
  run(i, n - i);
}

template <class Arch>
void range_impl(const float* x, int64_t n, float& least, float& greatest) {
  using F = simd::batch<float, Arch>;
  constexpr int64_t lanes = simd::lanes<float, Arch>;
  F low[4], high[4];
  for (int k = 0; k < 4; ++k) low[k] = high[k] = F(x[0]);
  // NaN if a number is, or both infinities are among them.
  F sum(0.0f);
  const auto take = [&](int k, const F& v) {
    low[k] = simd::min(v, low[k]);
    high[k] = simd::max(v, high[k]);
    sum = sum + v;
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes)
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) take(k, simd::loadu<Arch>(x + i + k * lanes));
  for (; i < n; i += lanes) take(0, simd::load_n<Arch>(x + i, std::min(lanes, n - i), x[0]));
  if (simd::any(simd::isnan(sum)))
    for (int64_t k = 0; k < n; ++k)
      if (x[k] != x[k]) {
        least = greatest = x[k];
        return;
      }
  least = simd::min_of_lanes(F(simd::min(simd::min(low[0], low[1]), simd::min(low[2], low[3]))));
  greatest = simd::max_of_lanes(F(simd::max(simd::max(high[0], high[1]), simd::max(high[2], high[3]))));
}

template <class Arch>
void quantize_bytes_impl(const float* x, int64_t n, float scale, uint8_t zero, uint8_t flip, uint8_t* y) {
  using F = simd::batch<float, Arch>;
  constexpr int64_t lanes = simd::lanes<float, Arch>, step = 4 * lanes;
  const F by(scale), inverse(1 / scale);
  const auto quotients = [&](const float* from, uint8_t* to) {
    // A product with the inverse is a few roundings off the quotient, and becomes the same whole number
    // unless it comes close to the middle of two.
    constexpr float magic = 0x1.8p23f;
    F q[4];
    simd::batch_bool<float, Arch> clear(true);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      q[k] = simd::loadu<Arch>(from + k * lanes) * inverse;
      clear = clear & (simd::abs(q[k] - ((q[k] + F(magic)) - F(magic))) < F(0.5f - 0x1p-14f));
    }
    if (!simd::all(clear)) {
      for (int k = 0; k < 4; ++k) q[k] = simd::loadu<Arch>(from + k * lanes) / by;
    }
    // Of a NaN the lower bound.
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) q[k] = simd::min(F(simd::max(q[k], F(-1024.0f))), F(1024.0f));
    simd::store_rounded<4>(to, q, zero, 0, 255);
    if (flip != 0)
      for (int64_t i = 0; i < step; ++i) to[i] ^= flip;
  };
  int64_t i = 0;
  for (; i + step <= n; i += step) quotients(x + i, y + i);
  if (i == n) return;
  float from[step] = {};
  uint8_t to[step];
  std::copy(x + i, x + n, from);
  quotients(from, to);
  std::copy_n(to, n - i, y + i);
}

template <class Arch>
void load_half_impl(DType type, const uint16_t* x, float* y, int64_t n) {
  if (type == DType::float16) simd::f16_to_f32<Arch>(x, y, n);
  else simd::bf16_to_f32<Arch>(x, y, n);
}

template <class Arch>
void store_half_impl(DType type, const float* x, uint16_t* y, int64_t n) {
  if (type == DType::float16) simd::f32_to_f16<Arch>(x, y, n);
  else simd::f32_to_bf16<Arch>(x, y, n);
}

}  // namespace tenon::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::kernels {

template void quantize_panel_impl<TENON_INSTANTIATE>(const float*, const float*, const float*, float, float,
                                                     uint8_t*);
template void quantize_panel_impl<TENON_INSTANTIATE>(const float*, const float*, const float*, float, float,
                                                     int8_t*);
template void quantize_panel_impl<TENON_INSTANTIATE>(const float*, const float*, const float*, float, float,
                                                     float*);
template void dequantize_panel_impl<TENON_INSTANTIATE>(const uint8_t*, const float*, const float*, float*);
template void dequantize_panel_impl<TENON_INSTANTIATE>(const int8_t*, const float*, const float*, float*);
template void dequantize_panel_impl<TENON_INSTANTIATE>(const float*, const float*, const float*, float*);
template void dequantize_bytes_impl<TENON_INSTANTIATE>(const uint8_t*, int64_t, float, float, float*);
template void dequantize_bytes_impl<TENON_INSTANTIATE>(const int8_t*, int64_t, float, float, float*);
template void range_impl<TENON_INSTANTIATE>(const float*, int64_t, float&, float&);
template void quantize_bytes_impl<TENON_INSTANTIATE>(const float*, int64_t, float, uint8_t, uint8_t,
                                                     uint8_t*);
template void load_half_impl<TENON_INSTANTIATE>(DType, const uint16_t*, float*, int64_t);
template void store_half_impl<TENON_INSTANTIATE>(DType, const float*, uint16_t*, int64_t);

}  // namespace tenon::kernels
#endif
