// Conversions of halves of 64-bit Arm.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/memory.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd {

namespace detail {
template <class Arch>
inline uint16x4_t bf16_from_f32(const float* p) {
#if defined(TENON_ARM_I8MM)
  return std::bit_cast<uint16x4_t>(vcvt_bf16_f32(vld1q_f32(p)));
#else
  const float32x4_t x = vld1q_f32(p);
  const uint32x4_t bits = vreinterpretq_u32_f32(x), odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
  const uint32x4_t near = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), odd);
  const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
  return vshrn_n_u32(vbslq_u32(vceqq_f32(x, x), near, quiet), 16);
#endif
}
}  // namespace detail

template <detail::HasNeon Arch>
inline void f16_to_f32(const uint16_t* in, float* out, int64_t n) {
  detail::in_blocks<4>(in, out, n, [](const uint16_t* h, float* x) {
    vst1q_f32(x, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(h))));
  });
}

template <detail::HasNeon Arch>
inline void f32_to_f16(const float* in, uint16_t* out, int64_t n) {
  detail::in_blocks<4>(in, out, n, [](const float* x, uint16_t* h) {
    vst1_u16(h, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x))));
  });
}

template <detail::HasNeon Arch>
inline void bf16_to_f32(const uint16_t* in, float* out, int64_t n) {
  detail::in_blocks<4>(in, out, n, [](const uint16_t* h, float* x) {
    vst1q_f32(x, vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(h), 16)));
  });
}

template <detail::HasNeon Arch>
inline void f32_to_bf16(const float* in, uint16_t* out, int64_t n) {
  detail::in_blocks<4>(in, out, n,
                       [](const float* x, uint16_t* h) { vst1_u16(h, detail::bf16_from_f32<Arch>(x)); });
}

}  // namespace tenon::TENON_ABI::simd

#endif
