// Loads and stores of 64-bit Arm.
#pragma once

#include <concepts>
#include <cstring>

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/registers.hpp"

#if defined(TENON_AARCH64)

namespace tenon::TENON_ABI::simd {

namespace detail {
/// The first `count` bytes at p, up to 16, the others zero.
template <class A>
inline uint8x16_t load_bytes_of(const void* p, int64_t count) {
  const auto* from = static_cast<const uint8_t*>(p);
  if (count >= 8) {
    // The last eight bytes, moved down to where the first eight end.
    if (count == 16) return vld1q_u8(from);
    const uint64x1_t last = vreinterpret_u64_u8(vld1_u8(from + count - 8));
    const uint64x1_t high = vshl_u64(last, vcreate_s64(static_cast<uint64_t>(8 * (count - 16))));
    return vcombine_u8(vld1_u8(from), vreinterpret_u8_u64(high));
  }
  uint64_t word = 0;
  if (count >= 4) {
    uint32_t low, high;
    std::memcpy(&low, from, 4);
    std::memcpy(&high, from + count - 4, 4);
    word = low | uint64_t{high} << 8 * (count - 4);
  } else if (count > 0) {
    word =
        from[0] | uint64_t{from[count / 2]} << 8 * (count / 2) | uint64_t{from[count - 1]} << 8 * (count - 1);
  }
  return vcombine_u8(vcreate_u8(word), vcreate_u8(0));
}

/// Stores the first `count` bytes, up to 16.
template <class A>
inline void store_bytes_of(void* p, uint8x16_t v, int64_t count) {
  auto* to = static_cast<uint8_t*>(p);
  if (count == 16) return vst1q_u8(to, v);
  uint64_t word = vgetq_lane_u64(vreinterpretq_u64_u8(v), 0);
  if ((count & 8) != 0) {
    std::memcpy(to, &word, 8);
    to += 8;
    word = vgetq_lane_u64(vreinterpretq_u64_u8(v), 1);
  }
  if ((count & 4) != 0) {
    const auto part = static_cast<uint32_t>(word);
    std::memcpy(to, &part, 4);
    to += 4;
    word >>= 32;
  }
  if ((count & 2) != 0) {
    const auto part = static_cast<uint16_t>(word);
    std::memcpy(to, &part, 2);
    to += 2;
    word >>= 16;
  }
  if ((count & 1) != 0) *to = static_cast<uint8_t>(word);
}

/// Registers of any type as bytes, and back.
template <class T, class A>
inline uint8x16_t bytes_of(const xsimd::batch<T, A>& v) {
  return std::bit_cast<uint8x16_t>(v.data);
}
template <class T, class A>
inline xsimd::batch<T, A> from_bytes(uint8x16_t v) {
  return std::bit_cast<typename xsimd::batch<T, A>::register_type>(v);
}
}  // namespace detail

template <detail::HasNeon Arch, class T>
inline batch<T, Arch> load_n(const T* p, int64_t n) {
  using A = typename batch<T, Arch>::arch_type;
  return detail::from_bytes<T, A>(detail::load_bytes_of<A>(p, n * static_cast<int64_t>(sizeof(T))));
}

template <detail::HasNeon Arch, class T>
inline batch<T, Arch> load_half(const T* p) {
  using A = typename batch<T, Arch>::arch_type;
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return detail::from_bytes<T, A>(vcombine_u8(vcreate_u8(word), vcreate_u8(0)));
}

template <class T, detail::Neon A>
inline void store_n(T* p, const xsimd::batch<T, A>& v, int64_t n) {
  detail::store_bytes_of<A>(p, detail::bytes_of(v), n * static_cast<int64_t>(sizeof(T)));
}

template <std::floating_point T, detail::Neon A>
inline xsimd::batch<T, A> first_n(const xsimd::batch<T, A>& x, int64_t n, const xsimd::batch<T, A>& y) {
  alignas(16) static constexpr uint8_t places[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const uint8x16_t of_x =
      vcltq_u8(vld1q_u8(places), vdupq_n_u8(static_cast<uint8_t>(n * static_cast<int64_t>(sizeof(T)))));
  return detail::from_bytes<T, A>(vbslq_u8(of_x, detail::bytes_of(x), detail::bytes_of(y)));
}

template <detail::HasNeon Arch>
inline batch<float, Arch> load_pairs(const float* p, const int64_t* index) {
  return vcombine_f32(vld1_f32(p + index[0]), vld1_f32(p + index[1]));
}

}  // namespace tenon::TENON_ABI::simd

#endif
