// Arithmetic of 64-bit Arm.
#pragma once

#include <concepts>

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/memory.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd {

template <std::floating_point T, detail::Neon A>
xsimd::batch<T, A> floor(const xsimd::batch<T, A>& x) {
  if constexpr (sizeof(T) == 4) return vrndmq_f32(x);
  else return vrndmq_f64(x);
}

// xsimd's instructions give NaN.
template <std::floating_point T, detail::Neon A>
inline xsimd::batch<T, A> max(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  if constexpr (sizeof(T) == 4) return vmaxnmq_f32(x, y);
  else return vmaxnmq_f64(x, y);
}
template <std::floating_point T, detail::Neon A>
inline xsimd::batch<T, A> min(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  if constexpr (sizeof(T) == 4) return vminnmq_f32(x, y);
  else return vminnmq_f64(x, y);
}

// xsimd multiplies by an estimate of the reciprocal.
template <std::same_as<float> T, detail::Neon A>
inline xsimd::batch<T, A> div(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  return vdivq_f32(x, y);
}

namespace detail {
template <std::floating_point T, Neon A>
inline T greatest_lane(const xsimd::batch<T, A>& v) {
  if constexpr (sizeof(T) == 4) return vmaxvq_f32(v);
  else return vmaxvq_f64(v);
}
}  // namespace detail

template <class T, detail::Neon A>
  requires(std::integral<T> && sizeof(T) == 4)
inline xsimd::batch<T, A> mul_wrap(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  return bits_as<T>(xsimd::batch<uint32_t, A>(vmulq_u32(bits_as<uint32_t>(x), bits_as<uint32_t>(y))));
}

template <class T, detail::Neon A>
  requires(std::integral<T> && sizeof(T) == 4)
inline T sum_of_lanes(const xsimd::batch<T, A>& v) {
  return static_cast<T>(vaddvq_u32(bits_as<uint32_t>(v)));
}

}  // namespace tenon::TENON_ABI::simd

#endif
