// Loads and stores: whole vectors, their first lanes, and lanes by masks.
#pragma once

#include <cstring>

#include "tenon/simd/batch/registers.hpp"

namespace tenon::TENON_ABI::simd {

/// All lanes from memory of any alignment.
template <class Arch, class T>
inline batch<T, Arch> loadu(const T* p) {
  return batch<T, Arch>::load_unaligned(p);
}

/// *p, at any address.
template <class Arch, class T>
inline T element(const T* p) {
  T x;
  std::memcpy(&x, static_cast<const void*>(p), sizeof x);
  return x;
}

/// All lanes to memory of any alignment.
template <class T, class A>
inline void storeu(T* p, const xsimd::batch<T, A>& v) {
  v.store_unaligned(p);
}

namespace detail {

#if defined(__AVX2__)
// Sixteen words whose window starting at 8 - n has n leading ones: the mask operand of vmaskmov.
template <class Arch>
inline __m256i mask_of_first_words(int64_t n) {
  alignas(64) static constexpr int32_t table[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(table + 8 - n));
}
#endif

}  // namespace detail

/// The first n lanes from memory, 0 <= n <= lanes, the others zero. Reads nothing past p + n.
template <class Arch, class T>
inline batch<T, Arch> load_n(const T* p, int64_t n) {
  constexpr int width = lanes<T, Arch>;
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64) {
    const uint64_t ones = n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
    if constexpr (std::is_same_v<T, float>) return _mm512_maskz_loadu_ps(static_cast<__mmask16>(ones), p);
    else if constexpr (std::is_same_v<T, double>)
      return _mm512_maskz_loadu_pd(static_cast<__mmask8>(ones), p);
    else if constexpr (sizeof(T) == 8) return _mm512_maskz_loadu_epi64(static_cast<__mmask8>(ones), p);
    else if constexpr (sizeof(T) == 4) return _mm512_maskz_loadu_epi32(static_cast<__mmask16>(ones), p);
    else if constexpr (sizeof(T) == 2) return _mm512_maskz_loadu_epi16(static_cast<__mmask32>(ones), p);
    else return _mm512_maskz_loadu_epi8(static_cast<__mmask64>(ones), p);
  } else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32 && sizeof(T) >= 4) {
    const __m256i mask = detail::mask_of_first_words<Arch>(n * static_cast<int64_t>(sizeof(T) / 4));
    if constexpr (std::is_same_v<T, float>) return _mm256_maskload_ps(p, mask);
    else if constexpr (std::is_same_v<T, double>) return _mm256_maskload_pd(p, mask);
    else return _mm256_maskload_epi32(reinterpret_cast<const int*>(p), mask);
  } else
#endif
  {
    alignas(64) T lane[width] = {};
    if (n > 0) std::memcpy(lane, p, static_cast<size_t>(n) * sizeof(T));
    return loadu<Arch>(lane);
  }
}

/// Half of the lanes from memory of any alignment, the others zero.
template <class Arch, class T>
inline batch<T, Arch> load_half(const T* p) {
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64 && std::is_same_v<T, float>)
    return _mm512_zextps256_ps512(_mm256_loadu_ps(p));
  else if constexpr (Arch::register_bytes == 64)
    return _mm512_zextsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  else
#endif
    return load_n<Arch>(p, lanes<T, Arch> / 2);
}

/// The first n lanes to memory, 0 <= n <= lanes. Writes nothing past p + n.
template <class T, class A>
inline void store_n(T* p, const xsimd::batch<T, A>& v, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    const uint64_t ones = n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
    if constexpr (std::is_same_v<T, float>) _mm512_mask_storeu_ps(p, static_cast<__mmask16>(ones), v);
    else if constexpr (std::is_same_v<T, double>) _mm512_mask_storeu_pd(p, static_cast<__mmask8>(ones), v);
    else if constexpr (sizeof(T) == 8) _mm512_mask_storeu_epi64(p, static_cast<__mmask8>(ones), v);
    else if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(p, static_cast<__mmask16>(ones), v);
    else if constexpr (sizeof(T) == 2) _mm512_mask_storeu_epi16(p, static_cast<__mmask32>(ones), v);
    else _mm512_mask_storeu_epi8(p, static_cast<__mmask64>(ones), v);
  } else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32 && sizeof(T) >= 4) {
    const __m256i mask = detail::mask_of_first_words<A>(n * static_cast<int64_t>(sizeof(T) / 4));
    if constexpr (std::is_same_v<T, float>) _mm256_maskstore_ps(p, mask, v);
    else if constexpr (std::is_same_v<T, double>) _mm256_maskstore_pd(p, mask, v);
    else _mm256_maskstore_epi32(reinterpret_cast<int*>(p), mask, v);
  } else
#endif
  {
    alignas(64) T lane[xsimd::batch<T, A>::size];
    storeu(lane, v);
    if (n > 0) std::memcpy(p, lane, static_cast<size_t>(n) * sizeof(T));
  }
}

/// The first n lanes of x, 0 <= n <= lanes, and the others of y. T: float, double.
template <class T, class A>
inline xsimd::batch<T, A> first_n(const xsimd::batch<T, A>& x, int64_t n, const xsimd::batch<T, A>& y) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    const uint32_t ones = (1u << n) - 1;
    if constexpr (sizeof(T) == 4) return _mm512_mask_mov_ps(y, static_cast<__mmask16>(ones), x);
    else return _mm512_mask_mov_pd(y, static_cast<__mmask8>(ones), x);
  } else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32) {
    const __m256i mask = detail::mask_of_first_words<A>(n * static_cast<int64_t>(sizeof(T) / 4));
    if constexpr (sizeof(T) == 4) return _mm256_blendv_ps(y, x, _mm256_castsi256_ps(mask));
    else return _mm256_blendv_pd(y, x, _mm256_castsi256_pd(mask));
  } else
#endif
  {
    alignas(64) T lane[2 * xsimd::batch<T, A>::size];
    storeu(lane, x);
    storeu(lane + n, y);
    return xsimd::batch<T, A>::load_unaligned(lane);
  }
}

namespace detail {

#if defined(__AVX2__)
// Lanes of `bits` as the mask operand of vmaskmov.
template <class Arch, class T>
inline __m256i mask_of_bits(uint64_t bits) {
  if constexpr (sizeof(T) == 4) {
    const __m256i each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), each), each);
  } else {
    const __m256i each = _mm256_setr_epi64x(1, 2, 4, 8);
    return _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(static_cast<long long>(bits)), each), each);
  }
}
#endif

}  // namespace detail

/// Loads lanes whose bit is set from memory; the others are `fill`. Reads nothing else, so p itself may be
/// out of bounds.
template <class Arch, class T>
inline batch<T, Arch> load_masked(const T* p, uint64_t bits, T fill) {
  constexpr int width = lanes<T, Arch>;
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64) {
    const batch<T, Arch> other(fill);
    if constexpr (std::is_same_v<T, float>)
      return _mm512_mask_loadu_ps(other, static_cast<__mmask16>(bits), p);
    else if constexpr (std::is_same_v<T, double>)
      return _mm512_mask_loadu_pd(other, static_cast<__mmask8>(bits), p);
    else if constexpr (sizeof(T) == 8) return _mm512_mask_loadu_epi64(other, static_cast<__mmask8>(bits), p);
    else if constexpr (sizeof(T) == 4) return _mm512_mask_loadu_epi32(other, static_cast<__mmask16>(bits), p);
    else if constexpr (sizeof(T) == 2) return _mm512_mask_loadu_epi16(other, static_cast<__mmask32>(bits), p);
    else return _mm512_mask_loadu_epi8(other, static_cast<__mmask64>(bits), p);
  } else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32 && std::is_same_v<T, float>) {
    const __m256i mask = detail::mask_of_bits<Arch, T>(bits);
    return _mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask));
  } else if constexpr (Arch::register_bytes == 32 && std::is_same_v<T, double>) {
    const __m256i mask = detail::mask_of_bits<Arch, T>(bits);
    return _mm256_blendv_pd(_mm256_set1_pd(fill), _mm256_maskload_pd(p, mask), _mm256_castsi256_pd(mask));
  } else
#endif
  {
    if (bits == ~uint64_t{0} >> (64 - width)) return loadu<Arch>(p);
    alignas(64) T lane[width];
    for (int i = 0; i < width; ++i) lane[i] = (bits >> i & 1) != 0 ? p[i] : fill;
    return loadu<Arch>(lane);
  }
}

/// Lanes 2 * i and 2 * i + 1 from p[index[i]] and p[index[i] + 1], for half as many indices as lanes.
template <class Arch>
inline batch<float, Arch> load_pairs(const float* p, const int64_t* index) {
  [[maybe_unused]] const auto* from = reinterpret_cast<const double*>(p);
#if defined(__AVX512F__)
  if constexpr (Arch::register_bytes == 64) {
    return _mm512_castpd_ps(_mm512_i64gather_pd(_mm512_loadu_si512(index), from, sizeof(float)));
  } else
#endif
#if defined(__AVX2__)
      if constexpr (Arch::register_bytes == 32) {
    const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index));
    return _mm256_castpd_ps(_mm256_i64gather_pd(from, at, sizeof(float)));
  } else
#endif
  {
    constexpr int width = lanes<float, Arch>;
    alignas(64) float lane[width];
    for (int i = 0; i < width; ++i) lane[i] = p[index[i / 2] + i % 2];
    return loadu<Arch>(lane);
  }
}

}  // namespace tenon::TENON_ABI::simd
