// Bodies of quantize.hpp. Panels have a known length: the compiler makes vector code of the level from plain
// loops.
#pragma once

#include "tenon/kernels/quantize.hpp"
#include "tenon/simd/batch.hpp"

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
template void load_half_impl<TENON_INSTANTIATE>(DType, const uint16_t*, float*, int64_t);
template void store_half_impl<TENON_INSTANTIATE>(DType, const float*, uint16_t*, int64_t);

}  // namespace tenon::kernels
#endif
