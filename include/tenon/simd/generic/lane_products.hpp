// Products with one lane of any processor: the lane is broadcast.
#pragma once

#include "tenon/simd/batch/lane_products.hpp"

namespace tenon::TENON_ABI::simd {

namespace detail {
template <int lane, class T, class A>
inline xsimd::batch<T, A> broadcast_lane(const xsimd::batch<T, A>& x) {
  alignas(64) T lanes[xsimd::batch<T, A>::size];
  storeu(lanes, x);
  return xsimd::batch<T, A>(lanes[lane]);
}
}  // namespace detail

template <class Arch, class T>
inline batch<T, Arch> load_lane(const T* p) {
  return batch<T, Arch>(element<Arch>(p));
}

template <int lane, class T, class A>
inline xsimd::batch<T, A> mul_add_lane(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                       const xsimd::batch<T, A>& z) {
  return mul_add(detail::broadcast_lane<lane>(x), y, z);
}

template <int lane, class A>
inline xsimd::batch<int32_t, A> mul_add_pairs_lane(const xsimd::batch<int32_t, A>& x,
                                                   const xsimd::batch<int32_t, A>& y,
                                                   const xsimd::batch<int32_t, A>& z) {
  return mul_add_pairs(detail::broadcast_lane<lane>(x), y, z);
}

template <int lane, class A>
inline xsimd::batch<int32_t, A> dot_bytes_lane(const xsimd::batch<int32_t, A>& x,
                                               const xsimd::batch<int32_t, A>& y,
                                               const xsimd::batch<int32_t, A>& z) {
  return dot_bytes(detail::broadcast_lane<lane>(x), y, z);
}

template <int lane, class A>
inline xsimd::batch<int32_t, A> dot_bytes_by_lane(const xsimd::batch<int32_t, A>& x,
                                                  const xsimd::batch<int32_t, A>& y,
                                                  const xsimd::batch<int32_t, A>& z) {
  return dot_bytes(x, detail::broadcast_lane<lane>(y), z);
}

template <class A>
inline xsimd::batch<int32_t, A> dot_blocks(const xsimd::batch<int32_t, A>& x,
                                           const xsimd::batch<int32_t, A>& y,
                                           const xsimd::batch<int32_t, A>& z) {
  constexpr int width = static_cast<int>(xsimd::batch<int32_t, A>::size);
  alignas(64) uint8_t a[4 * width];
  alignas(64) int8_t b[4 * width];
  alignas(64) int32_t c[width];
  std::memcpy(a, &x, sizeof a), std::memcpy(b, &y, sizeof b), std::memcpy(c, &z, sizeof c);
  for (int k = 0; k < width; ++k)
    for (int e = 0; e < 8; ++e) c[k] += a[k / 4 * 16 + k % 4 / 2 * 8 + e] * b[k / 4 * 16 + k % 2 * 8 + e];
  return xsimd::batch<int32_t, A>::load_aligned(c);
}

}  // namespace tenon::TENON_ABI::simd
