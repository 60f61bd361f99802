// Shuffles of bytes of 64-bit Arm.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/byte_conversions.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd {

namespace detail {
/// The words of interleave_bytes for 16 columns.
template <class Arch>
inline uint32x4x4_t interleaved_words(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) {
  const uint16x8_t ab = vreinterpretq_u16_u8(vzip1q_u8(a, b)), cd = vreinterpretq_u16_u8(vzip1q_u8(c, d));
  const uint16x8_t ab_high = vreinterpretq_u16_u8(vzip2q_u8(a, b)),
                   cd_high = vreinterpretq_u16_u8(vzip2q_u8(c, d));
  return {{vreinterpretq_u32_u16(vzip1q_u16(ab, cd)), vreinterpretq_u32_u16(vzip2q_u16(ab, cd)),
           vreinterpretq_u32_u16(vzip1q_u16(ab_high, cd_high)),
           vreinterpretq_u32_u16(vzip2q_u16(ab_high, cd_high))}};
}
}  // namespace detail

template <detail::HasNeon Arch>
inline void transpose_words(const uint8_t* from, int64_t from_row, uint32_t* to, int64_t to_row) {
  const auto row = [&](int i) { return vreinterpretq_u32_u8(vld1q_u8(from + i * from_row)); };
  const uint32x4_t r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
  const auto a = vreinterpretq_u64_u32(vtrn1q_u32(r0, r1)), b = vreinterpretq_u64_u32(vtrn2q_u32(r0, r1)),
             c = vreinterpretq_u64_u32(vtrn1q_u32(r2, r3)), d = vreinterpretq_u64_u32(vtrn2q_u32(r2, r3));
  vst1q_u32(to, vreinterpretq_u32_u64(vtrn1q_u64(a, c)));
  vst1q_u32(to + to_row, vreinterpretq_u32_u64(vtrn1q_u64(b, d)));
  vst1q_u32(to + 2 * to_row, vreinterpretq_u32_u64(vtrn2q_u64(a, c)));
  vst1q_u32(to + 3 * to_row, vreinterpretq_u32_u64(vtrn2q_u64(b, d)));
}

template <detail::HasNeon Arch>
inline void transpose_bytes(int32_t a, int32_t b, int32_t c, int32_t d, int32_t* to) {
  alignas(16) static constexpr uint8_t turned[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  const auto both = [](int32_t x, int32_t y) {
    return vcreate_u8(static_cast<uint32_t>(x) | uint64_t{static_cast<uint32_t>(y)} << 32);
  };
  const uint8x16_t rows = vcombine_u8(both(a, b), both(c, d));
  vst1q_s32(to, vreinterpretq_s32_u8(vqtbl1q_u8(rows, vld1q_u8(turned))));
}

template <detail::HasNeon Arch>
inline void interleave_bytes(const uint8_t* r0, const uint8_t* r1, const uint8_t* r2, const uint8_t* r3,
                             uint32_t* to) {
  const uint32x4x4_t words =
      detail::interleaved_words<Arch>(vld1q_u8(r0), vld1q_u8(r1), vld1q_u8(r2), vld1q_u8(r3));
  for (int k = 0; k < 4; ++k) vst1q_u32(to + 4 * k, words.val[k]);
}

template <detail::HasNeon Arch>
inline void interleave_rows(const uint8_t* const* row, int rows, uint8_t flip, uint8_t* to) {
  const uint8x16_t flips = vdupq_n_u8(flip);
  const auto at = [&](int r) { return veorq_u8(vld1q_u8(row[r]), flips); };
  switch (rows) {
    case 1: vst1q_u8(to, at(0)); return;
    case 2: vst2q_u8(to, (uint8x16x2_t{{at(0), at(1)}})); return;
    case 3: vst3q_u8(to, (uint8x16x3_t{{at(0), at(1), at(2)}})); return;
    default: vst4q_u8(to, (uint8x16x4_t{{at(0), at(1), at(2), at(3)}})); return;
  }
}

template <detail::HasNeon Arch>
inline void interleave_pairs(const uint8_t* r0, const uint8_t* r1, uint8_t flip, int32_t zero, int32_t* to) {
  const uint8x16_t flips = vdupq_n_u8(flip);
  const uint16x8_t zeros = vdupq_n_u16(static_cast<uint16_t>(zero));
  const uint8x16_t a = veorq_u8(vld1q_u8(r0), flips), b = veorq_u8(vld1q_u8(r1), flips);
  const auto pairs = [&](uint16x8_t first, uint16x8_t second, int32_t* at) {
    first = vsubq_u16(first, zeros), second = vsubq_u16(second, zeros);
    vst1q_s32(at, vreinterpretq_s32_u16(vzip1q_u16(first, second)));
    vst1q_s32(at + 4, vreinterpretq_s32_u16(vzip2q_u16(first, second)));
  };
  pairs(vmovl_u8(vget_low_u8(a)), vmovl_u8(vget_low_u8(b)), to);
  pairs(vmovl_high_u8(a), vmovl_high_u8(b), to + 8);
}

template <detail::HasNeon Arch, class A>
inline void interleave_vectors(const uint8_t* r0, const uint8_t* r1, const uint8_t* r2, const uint8_t* r3,
                               xsimd::batch<int32_t, A>* to) {
  const uint32x4x4_t words =
      detail::interleaved_words<Arch>(vld1q_u8(r0), vld1q_u8(r1), vld1q_u8(r2), vld1q_u8(r3));
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) to[k] = vreinterpretq_s32_u32(words.val[k]);
}

}  // namespace tenon::TENON_ABI::simd

#endif
