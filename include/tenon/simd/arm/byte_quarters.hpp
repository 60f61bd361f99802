// Unpacking and packing of bytes by quarters of vectors of 64-bit Arm. A vector of words is a quarter, so the
// columns are in order.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/byte_shuffles.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd {

template <bool high, detail::Neon A>
inline void interleave_quarters(const xsimd::batch<uint8_t, A> (&row)[4], xsimd::batch<int32_t, A>* to) {
  const uint32x4x4_t words = detail::interleaved_words<A>(row[0], row[1], row[2], row[3]);
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k) to[k] = vreinterpretq_s32_u32(words.val[k + 2 * high]);
}

template <bool high, detail::Neon A>
inline void interleave_quarters(const xsimd::batch<uint8_t, A> (&row)[2], xsimd::batch<int32_t, A>* to) {
  const auto widen = [](const xsimd::batch<uint8_t, A>& v) {
    if constexpr (high) return vmovl_high_u8(v);
    else return vmovl_u8(vget_low_u8(v));
  };
  const uint16x8_t first = widen(row[0]), second = widen(row[1]);
  to[0] = vreinterpretq_s32_u16(vzip1q_u16(first, second));
  to[1] = vreinterpretq_s32_u16(vzip2q_u16(first, second));
}

template <bool two, detail::Neon A>
  requires(!two)
inline void store_rounded_quarters_n(uint8_t* p, [[maybe_unused]] uint8_t* p2,
                                     const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                                     int64_t n) {
  detail::store_bytes_of<A>(p, detail::rounded_bytes<4>(x, zero, lo, hi), n);
}

}  // namespace tenon::TENON_ABI::simd

#endif
