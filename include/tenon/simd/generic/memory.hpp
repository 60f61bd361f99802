// Loads and stores of any processor, lane by lane through memory.
#pragma once

#include "tenon/simd/batch/memory.hpp"

namespace tenon::TENON_ABI::simd {

template <class Arch, class T>
inline batch<T, Arch> load_n(const T* p, int64_t n) {
  alignas(64) T lane[lanes<T, Arch>] = {};
  if (n > 0) std::memcpy(lane, p, static_cast<size_t>(n) * sizeof(T));
  return loadu<Arch>(lane);
}

template <class Arch, class T>
inline batch<T, Arch> load_half(const T* p) {
  return load_n<Arch>(p, lanes<T, Arch> / 2);
}

template <class T, class A>
inline void store_n(T* p, const xsimd::batch<T, A>& v, int64_t n) {
  alignas(64) T lane[xsimd::batch<T, A>::size];
  storeu(lane, v);
  if (n > 0) std::memcpy(p, lane, static_cast<size_t>(n) * sizeof(T));
}

template <class T, class A>
inline xsimd::batch<T, A> first_n(const xsimd::batch<T, A>& x, int64_t n, const xsimd::batch<T, A>& y) {
  alignas(64) T lane[2 * xsimd::batch<T, A>::size];
  storeu(lane, x);
  storeu(lane + n, y);
  return xsimd::batch<T, A>::load_unaligned(lane);
}

template <class Arch, class T>
inline batch<T, Arch> load_masked(const T* p, uint64_t bits, T fill) {
  constexpr int width = lanes<T, Arch>;
  if (bits == ~uint64_t{0} >> (64 - width)) return loadu<Arch>(p);
  alignas(64) T lane[width];
  for (int i = 0; i < width; ++i) lane[i] = (bits >> i & 1) != 0 ? p[i] : fill;
  return loadu<Arch>(lane);
}

template <class Arch>
inline batch<float, Arch> load_pairs(const float* p, const int64_t* index) {
  constexpr int width = lanes<float, Arch>;
  alignas(64) float lane[width];
  for (int i = 0; i < width; ++i) lane[i] = p[index[i / 2] + i % 2];
  return loadu<Arch>(lane);
}

}  // namespace tenon::TENON_ABI::simd
