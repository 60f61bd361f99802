// Products with one lane of 64-bit Arm.
#pragma once

#include <concepts>

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/byte_products.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd {

// ---- NEON ------------------------------------------------------------------------------------------------

// The compiler would set the other lanes too, by an instruction that competes with the products.
template <detail::HasNeon Arch, class T>
inline batch<T, Arch> load_lane(const T* p) {
  typename batch<T, Arch>::register_type r;
  const auto& bytes = *reinterpret_cast<const char(*)[sizeof(T)]>(p);
  if constexpr (sizeof(T) == 4) asm("ldr %s0, %1" : "=w"(r) : "m"(bytes));
  else asm("ldr %d0, %1" : "=w"(r) : "m"(bytes));
  return r;
}

template <int lane, std::floating_point T, detail::Neon A>
inline xsimd::batch<T, A> mul_add_lane(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                       const xsimd::batch<T, A>& z) {
  if constexpr (sizeof(T) == 4) return vfmaq_laneq_f32(z, y, x, lane);
  else return vfmaq_laneq_f64(z, y, x, lane);
}

template <int lane, detail::Neon A>
inline xsimd::batch<int32_t, A> mul_add_pairs_lane(const xsimd::batch<int32_t, A>& x,
                                                   const xsimd::batch<int32_t, A>& y,
                                                   const xsimd::batch<int32_t, A>& z) {
  // The low halves of y's lanes, then the high ones: the compiler does this once for all uses of y.
  const int16x8_t halves = vshrn_high_n_s32(vmovn_s32(y), y, 16), pairs = vreinterpretq_s16_s32(x);
  const int32x4_t first = vmlal_laneq_s16(z, vget_low_s16(halves), pairs, 2 * lane);
  return vmlal_high_laneq_s16(first, halves, pairs, 2 * lane + 1);
}

// ---- dotprod ---------------------------------------------------------------------------------------------

#if defined(__ARM_FEATURE_DOTPROD)

template <int lane, detail::Neon A>
inline xsimd::batch<int32_t, A> dot_bytes_lane(const xsimd::batch<int32_t, A>& x,
                                               const xsimd::batch<int32_t, A>& y,
                                               const xsimd::batch<int32_t, A>& z) {
#if defined(TENON_ARM_I8MM)
  return vsudotq_laneq_s32(z, vreinterpretq_s8_s32(y), vreinterpretq_u8_s32(x), lane);
#else
  return vdotq_laneq_s32(z, vreinterpretq_s8_s32(y), detail::lowered(x), lane);
#endif
}

template <int lane, detail::Neon A>
inline xsimd::batch<int32_t, A> dot_bytes_by_lane(const xsimd::batch<int32_t, A>& x,
                                                  const xsimd::batch<int32_t, A>& y,
                                                  const xsimd::batch<int32_t, A>& z) {
#if defined(TENON_ARM_I8MM)
  return vusdotq_laneq_s32(z, vreinterpretq_u8_s32(x), vreinterpretq_s8_s32(y), lane);
#else
  return vdotq_laneq_s32(z, detail::lowered(x), vreinterpretq_s8_s32(y), lane);
#endif
}

#endif

// ---- i8mm ------------------------------------------------------------------------------------------------

#if defined(TENON_ARM_I8MM)

template <detail::Neon A>
inline xsimd::batch<int32_t, A> dot_blocks(const xsimd::batch<int32_t, A>& x,
                                           const xsimd::batch<int32_t, A>& y,
                                           const xsimd::batch<int32_t, A>& z) {
  return vusmmlaq_s32(z, vreinterpretq_u8_s32(x), vreinterpretq_s8_s32(y));
}

#endif

}  // namespace tenon::TENON_ABI::simd

#endif
