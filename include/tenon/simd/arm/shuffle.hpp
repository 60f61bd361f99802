// Shuffles of 64-bit Arm.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/memory.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd {

template <class T, detail::Neon A>
  requires(sizeof(T) == 4)
inline xsimd::batch<T, A> pick_lanes(const xsimd::batch<T, A>& x, const xsimd::batch<uint32_t, A>& index) {
  // The places of the four bytes of each lane.
  const uint32x4_t lane = vandq_u32(index, vdupq_n_u32(3));
  const uint32x4_t places = vmlaq_u32(vdupq_n_u32(0x03020100), lane, vdupq_n_u32(0x04040404));
  return detail::from_bytes<T, A>(vqtbl1q_u8(detail::bytes_of(x), vreinterpretq_u8_u32(places)));
}

template <detail::HasNeon Arch, class T>
inline void transpose_tile(const T* from, int64_t from_row, T* to, int64_t to_row) {
  const auto row = [&](int i) { return vld1q_u8(reinterpret_cast<const uint8_t*>(from + i * from_row)); };
  const auto store = [&](int i, auto v) {
    vst1q_u8(reinterpret_cast<uint8_t*>(to + i * to_row), std::bit_cast<uint8x16_t>(v));
  };
  if constexpr (sizeof(T) == 4) {
    const auto r0 = vreinterpretq_u32_u8(row(0)), r1 = vreinterpretq_u32_u8(row(1)),
               r2 = vreinterpretq_u32_u8(row(2)), r3 = vreinterpretq_u32_u8(row(3));
    const auto a = vreinterpretq_u64_u32(vtrn1q_u32(r0, r1)), b = vreinterpretq_u64_u32(vtrn2q_u32(r0, r1)),
               c = vreinterpretq_u64_u32(vtrn1q_u32(r2, r3)), d = vreinterpretq_u64_u32(vtrn2q_u32(r2, r3));
    store(0, vtrn1q_u64(a, c));
    store(1, vtrn1q_u64(b, d));
    store(2, vtrn2q_u64(a, c));
    store(3, vtrn2q_u64(b, d));
  } else {
    const auto r0 = vreinterpretq_u64_u8(row(0)), r1 = vreinterpretq_u64_u8(row(1));
    store(0, vtrn1q_u64(r0, r1));
    store(1, vtrn2q_u64(r0, r1));
  }
}

}  // namespace tenon::TENON_ABI::simd

#endif
