// Conversions of bytes of 64-bit Arm.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/memory.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd {

namespace detail {
/// Bytes of the numbers of `count` vectors, see store_rounded; those past them are of the last ones again.
template <int count, class A>
inline uint8x16_t rounded_bytes(const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi) {
  static_assert(count <= 4);
  // 16 bits saturate before and after the zero point is added, bytes afterwards.
  const int16x8_t shift = vdupq_n_s16(static_cast<int16_t>(zero));
  const auto narrow = [&](int k) { return vqmovn_s32(vcvtnq_s32_f32(x[k < count ? k : count - 1])); };
  const int16x8_t low = vqaddq_s16(vcombine_s16(narrow(0), narrow(1)), shift);
  const uint8x8_t first = vqmovun_s16(low);
  uint8x16_t bytes = vcombine_u8(first, first);
  if constexpr (count > 2)
    bytes = vcombine_u8(first, vqmovun_s16(vqaddq_s16(vcombine_s16(narrow(2), narrow(3)), shift)));
  return vminq_u8(vmaxq_u8(bytes, vdupq_n_u8(static_cast<uint8_t>(lo))),
                  vdupq_n_u8(static_cast<uint8_t>(hi)));
}
}  // namespace detail

template <detail::HasNeon Arch>
inline batch<int32_t, Arch> load_bytes(const uint8_t* p) {
  uint32_t word;
  std::memcpy(&word, p, 4);
  return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(word)))));
}

template <detail::HasNeon Arch>
inline batch<int32_t, Arch> load_signed_bytes(const int8_t* p) {
  uint32_t word;
  std::memcpy(&word, p, 4);
  return vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(word))));
}

template <detail::Neon A>
inline void store_bytes(uint8_t* p, const xsimd::batch<int32_t, A>& v) {
  const uint16x4_t halves = vmovn_u32(vreinterpretq_u32_s32(v));
  const uint8x8_t bytes = vmovn_u16(vcombine_u16(halves, halves));
  const uint32_t word = vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
  std::memcpy(p, &word, 4);
}

template <int count, detail::Neon A>
inline void store_rounded(uint8_t* p, const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                          uint8_t flip = 0) {
  const uint8x16_t bytes = veorq_u8(detail::rounded_bytes<count>(x, zero, lo, hi), vdupq_n_u8(flip));
  detail::store_bytes_of<A>(p, bytes, 4 * count);
}

template <int count, detail::Neon A>
inline void store_rounded_n(uint8_t* p, const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                            int64_t n) {
  const uint8x16_t bytes = detail::rounded_bytes<count>(x, zero, lo, hi);
  if (n >= 4 * count) detail::store_bytes_of<A>(p, bytes, 4 * count);
  else detail::store_bytes_of<A>(p, bytes, n);
}

template <detail::Neon A>
inline xsimd::batch<uint8_t, A> look_up_bytes(const xsimd::batch<uint8_t, A>* table,
                                              const xsimd::batch<uint8_t, A>& x) {
  const auto quarter = [&](int k) {
    return uint8x16x4_t{{table[4 * k], table[4 * k + 1], table[4 * k + 2], table[4 * k + 3]}};
  };
  // A place outside of the quarter leaves the byte as it is.
  uint8x16_t place = x, found = vqtbl4q_u8(quarter(0), place);
  for (int k = 1; k < 4; ++k) {
    place = vsubq_u8(place, vdupq_n_u8(64));
    found = vqtbx4q_u8(found, quarter(k), place);
  }
  return found;
}

}  // namespace tenon::TENON_ABI::simd

#endif
