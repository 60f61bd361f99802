// Bodies of requantize.hpp. The compiler makes vector code of the level from plain loops.
#pragma once

#include <limits>

#include "tenon/kernels/requantize.hpp"

namespace tenon::kernels {

template <class Arch, class T>
void requantize_row_impl(const int32_t* __restrict x, int64_t n, float rate,
                         const float* __restrict col_scale, T zero, T* __restrict y) {
  // Bounds come before rounding: they are whole numbers, and bounded numbers are small enough for the sum
  // with `magic` to round. NaN gives the lower bound.
  constexpr float magic = 0x1.8p23f;
  const float shift = static_cast<float>(zero);
  const float least = static_cast<float>(std::numeric_limits<T>::lowest()) - shift;
  const float most = static_cast<float>(std::numeric_limits<T>::max()) - shift;
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

}  // namespace tenon::kernels

#ifdef TENON_INSTANTIATE
namespace tenon::kernels {

template void requantize_row_impl<TENON_INSTANTIATE>(const int32_t*, int64_t, float, const float*, int8_t,
                                                     int8_t*);
template void requantize_row_impl<TENON_INSTANTIATE>(const int32_t*, int64_t, float, const float*, uint8_t,
                                                     uint8_t*);

}  // namespace tenon::kernels
#endif
