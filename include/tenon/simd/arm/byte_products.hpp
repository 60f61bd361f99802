// Products of bytes and of 16-bit integers of 64-bit Arm.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/memory.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd {

// ---- NEON ------------------------------------------------------------------------------------------------

template <detail::Neon A>
inline xsimd::batch<int32_t, A> mul_add_pairs(const xsimd::batch<int32_t, A>& x,
                                              const xsimd::batch<int32_t, A>& y,
                                              const xsimd::batch<int32_t, A>& z) {
  const int16x8_t a = vreinterpretq_s16_s32(x), b = vreinterpretq_s16_s32(y);
  const int32x4_t low = vmull_s16(vget_low_s16(a), vget_low_s16(b)), high = vmull_high_s16(a, b);
  return vaddq_s32(z, vpaddq_s32(low, high));
}

template <detail::Neon A>
inline xsimd::batch<int32_t, A> sum_bytes(const xsimd::batch<int32_t, A>& x,
                                          const xsimd::batch<int32_t, A>& z) {
  const uint16x8_t pairs = vpaddlq_u8(vreinterpretq_u8_s32(x));
  return vreinterpretq_s32_u32(vpadalq_u16(vreinterpretq_u32_s32(z), pairs));
}

// ---- dotprod ---------------------------------------------------------------------------------------------

#if defined(__ARM_FEATURE_DOTPROD)

namespace detail {
/// The bytes of x as dot_bytes multiplies them. GCC would move its own instruction away from the product, and
/// run out of registers.
template <class A>
inline int8x16_t lowered(const xsimd::batch<int32_t, A>& x) {
  int8x16_t r;
  asm("eor %0.16b, %1.16b, %2.16b" : "=w"(r) : "w"(static_cast<int32x4_t>(x)), "w"(vdupq_n_u8(128)));
  return r;
}
}  // namespace detail

template <detail::Neon A>
inline xsimd::batch<int32_t, A> dot_low_bytes(const xsimd::batch<int32_t, A>& x,
                                              const xsimd::batch<int32_t, A>& y,
                                              const xsimd::batch<int32_t, A>& z) {
  return vdotq_s32(z, vreinterpretq_s8_s32(x), vreinterpretq_s8_s32(y));
}

template <detail::Neon A>
inline xsimd::batch<int32_t, A> dot_bytes(const xsimd::batch<int32_t, A>& x,
                                          const xsimd::batch<int32_t, A>& y,
                                          const xsimd::batch<int32_t, A>& z) {
#if defined(TENON_ARM_I8MM)
  return vusdotq_s32(z, vreinterpretq_u8_s32(x), vreinterpretq_s8_s32(y));
#else
  return vdotq_s32(z, detail::lowered(x), vreinterpretq_s8_s32(y));
#endif
}

#endif

}  // namespace tenon::TENON_ABI::simd

#endif
