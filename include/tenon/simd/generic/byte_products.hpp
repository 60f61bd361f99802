// Products of bytes of any processor, one by one.
#pragma once

#include "tenon/simd/batch/byte_products.hpp"

namespace tenon::TENON_ABI::simd {

template <class A>
inline xsimd::batch<int32_t, A> mul_add_pairs(const xsimd::batch<int32_t, A>& x,
                                              const xsimd::batch<int32_t, A>& y,
                                              const xsimd::batch<int32_t, A>& z) {
  return z + (x >> 16) * (y >> 16) + ((x << 16) >> 16) * ((y << 16) >> 16);
}

template <class A>
inline xsimd::batch<int32_t, A> dot_bytes(const xsimd::batch<int32_t, A>& x,
                                          const xsimd::batch<int32_t, A>& y,
                                          const xsimd::batch<int32_t, A>& z) {
  constexpr int width = static_cast<int>(xsimd::batch<int32_t, A>::size);
  alignas(64) int32_t a[width], b[width], c[width];
  storeu(a, x);
  storeu(b, y);
  storeu(c, z);
  for (int i = 0; i < width; ++i) {
    int32_t sum = 0;
    for (int e = 0; e < 32; e += 8) sum += (a[i] >> e & 255) * static_cast<int8_t>(b[i] >> e & 255);
    c[i] = static_cast<int32_t>(static_cast<uint32_t>(c[i]) + static_cast<uint32_t>(sum));
  }
  return xsimd::batch<int32_t, A>::load_unaligned(c);
}

template <class A>
inline xsimd::batch<int32_t, A> dot_low_bytes(const xsimd::batch<int32_t, A>& x,
                                              const xsimd::batch<int32_t, A>& y,
                                              const xsimd::batch<int32_t, A>& z) {
  return dot_bytes(x, y, z);
}

template <class A>
inline xsimd::batch<int32_t, A> sum_bytes(const xsimd::batch<int32_t, A>& x,
                                          const xsimd::batch<int32_t, A>& z) {
  using U = xsimd::batch<uint32_t, A>;
  const U bytes = bits_as<uint32_t>(x), halves = (bytes & U(0xff00ff)) + ((bytes >> 8) & U(0xff00ff));
  return z + bits_as<int32_t>(U((halves & U(0xffff)) + (halves >> 16)));
}

template <class A>
inline xsimd::batch<int32_t, A> mul_add_bytes(const xsimd::batch<int32_t, A>& x,
                                              const xsimd::batch<int32_t, A>& y,
                                              const xsimd::batch<int32_t, A>& z) {
  constexpr int width = 4 * static_cast<int>(xsimd::batch<int32_t, A>::size);
  alignas(64) uint8_t a[width];
  alignas(64) int8_t b[width];
  alignas(64) int16_t c[width / 2];
  std::memcpy(a, &x, sizeof a), std::memcpy(b, &y, sizeof b), std::memcpy(c, &z, sizeof c);
  for (int i = 0; i < width / 2; ++i) {
    const int both = a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
    c[i] = static_cast<int16_t>(c[i] + std::min(std::max(both, -32768), 32767));
  }
  xsimd::batch<int32_t, A> sums;
  std::memcpy(&sums, c, sizeof c);
  return sums;
}

template <class A>
inline xsimd::batch<int32_t, A> dot_bytes_16(const xsimd::batch<int32_t, A>& x,
                                             const xsimd::batch<int32_t, A>& y,
                                             const xsimd::batch<int32_t, A>& z) {
  return dot_bytes(x, y, z);
}

}  // namespace tenon::TENON_ABI::simd
