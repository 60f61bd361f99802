// Conversions between float and double of any processor.
#pragma once

#include "tenon/simd/wide.hpp"

namespace tenon::TENON_ABI::simd {

template <class Arch>
inline batch<double, Arch> load_as_double(const float* p) {
  alignas(64) double lane[lanes<double, Arch>];
  for (int i = 0; i < lanes<double, Arch>; ++i) lane[i] = p[i];
  return loadu<Arch>(lane);
}

template <class Arch>
inline batch<double, Arch> load_as_double(const float* p, int64_t n) {
  float part[lanes<double, Arch>] = {};
  for (int64_t i = 0; i < n; ++i) part[i] = p[i];
  return load_as_double<Arch>(part);
}

template <class A>
inline void store_as_float(float* p, const xsimd::batch<double, A>& v) {
  constexpr int width = static_cast<int>(xsimd::batch<double, A>::size);
  alignas(64) double lane[width];
  storeu(lane, v);
  for (int i = 0; i < width; ++i) p[i] = static_cast<float>(lane[i]);
}

template <class A>
inline void store_as_float(float* p, const xsimd::batch<double, A>& v, int64_t n) {
  float part[xsimd::batch<double, A>::size];
  store_as_float(part, v);
  for (int64_t i = 0; i < n; ++i) p[i] = part[i];
}

}  // namespace tenon::TENON_ABI::simd
