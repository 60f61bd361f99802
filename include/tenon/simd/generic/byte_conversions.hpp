// Conversions of bytes of any processor.
#pragma once

#include "tenon/simd/batch/byte_conversions.hpp"

namespace tenon::TENON_ABI::simd {

template <class Arch>
inline batch<int32_t, Arch> load_bytes(const uint8_t* p) {
  alignas(64) int32_t lane[lanes<int32_t, Arch>];
  for (int i = 0; i < lanes<int32_t, Arch>; ++i) lane[i] = p[i];
  return loadu<Arch>(lane);
}

template <class Arch>
inline batch<int32_t, Arch> load_signed_bytes(const int8_t* p) {
  alignas(64) int32_t lane[lanes<int32_t, Arch>];
  for (int i = 0; i < lanes<int32_t, Arch>; ++i) lane[i] = p[i];
  return loadu<Arch>(lane);
}

template <class Arch>
inline batch<int32_t, Arch> load_bytes_n(const uint8_t* p, int64_t n) {
  constexpr int64_t width = lanes<int32_t, Arch>;
  if (n == width) return load_bytes<Arch>(p);
  uint8_t lane[width] = {};
  if (n > 0) std::memcpy(lane, p, static_cast<size_t>(n));
  return load_bytes<Arch>(lane);
}

template <class A>
inline void store_bytes(uint8_t* p, const xsimd::batch<int32_t, A>& v) {
  constexpr int width = static_cast<int>(xsimd::batch<int32_t, A>::size);
  alignas(64) int32_t lane[width];
  storeu(lane, v);
  for (int i = 0; i < width; ++i) p[i] = static_cast<uint8_t>(lane[i]);
}

template <int count, class A>
inline void store_rounded(uint8_t* p, const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                          uint8_t flip) {
  static_assert(count <= 4);
  using F = xsimd::batch<float, A>;
  const F least(static_cast<float>(lo - zero)), most(static_cast<float>(hi - zero));
  const xsimd::batch<int32_t, A> shift(zero), flips(flip);
  for (int k = 0; k < count; ++k)
    store_bytes(p + k * static_cast<int>(F::size),
                round_bytes(F(min(max(x[k], least), most)), shift) ^ flips);
}

template <int count, class A>
inline void store_rounded_n(uint8_t* p, const xsimd::batch<float, A>* x, int32_t zero, int32_t lo, int32_t hi,
                            int64_t n) {
  constexpr auto whole = count * static_cast<int64_t>(xsimd::batch<float, A>::size);
  if (n >= whole) return store_rounded<count>(p, x, zero, lo, hi);
  uint8_t bytes[whole];
  store_rounded<count>(bytes, x, zero, lo, hi);
  std::memcpy(p, bytes, static_cast<std::size_t>(n));
}

template <class A>
inline xsimd::batch<uint8_t, A> look_up_bytes(const xsimd::batch<uint8_t, A>* table,
                                              const xsimd::batch<uint8_t, A>& x) {
  constexpr std::size_t width = xsimd::batch<uint8_t, A>::size;
  alignas(64) uint8_t from[256], lane[width];
  for (std::size_t i = 0; i < 256; i += width) storeu(from + i, table[i / width]);
  storeu(lane, x);
  for (uint8_t& v : lane) v = from[v];
  return xsimd::batch<uint8_t, A>::load_aligned(lane);
}

}  // namespace tenon::TENON_ABI::simd
