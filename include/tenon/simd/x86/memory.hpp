// Loads and stores by the masks of AVX2 and AVX-512.
#pragma once

#include <concepts>

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/registers.hpp"

#if defined(TENON_X86_64)

namespace tenon::TENON_ABI::simd {

// ---- AVX2 ------------------------------------------------------------------------------------------------

#if defined(__AVX2__)

namespace detail {

// Sixteen words whose window starting at 8 - n has n leading ones: the mask operand of vmaskmov.
template <class Arch>
inline __m256i mask_of_first_words(int64_t n) {
  alignas(64) static constexpr int32_t table[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(table + 8 - n));
}

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

}  // namespace detail

template <detail::AtAvx2 Arch, class T>
  requires(sizeof(T) >= 4)
inline batch<T, Arch> load_n(const T* p, int64_t n) {
  const __m256i mask = detail::mask_of_first_words<Arch>(n * static_cast<int64_t>(sizeof(T) / 4));
  if constexpr (std::is_same_v<T, float>) return _mm256_maskload_ps(p, mask);
  else if constexpr (std::is_same_v<T, double>) return _mm256_maskload_pd(p, mask);
  else return _mm256_maskload_epi32(reinterpret_cast<const int*>(p), mask);
}

template <class T, detail::Ymm A>
  requires(sizeof(T) >= 4)
inline void store_n(T* p, const xsimd::batch<T, A>& v, int64_t n) {
  const __m256i mask = detail::mask_of_first_words<A>(n * static_cast<int64_t>(sizeof(T) / 4));
  if constexpr (std::is_same_v<T, float>) _mm256_maskstore_ps(p, mask, v);
  else if constexpr (std::is_same_v<T, double>) _mm256_maskstore_pd(p, mask, v);
  else _mm256_maskstore_epi32(reinterpret_cast<int*>(p), mask, v);
}

template <class T, detail::Ymm A>
inline xsimd::batch<T, A> first_n(const xsimd::batch<T, A>& x, int64_t n, const xsimd::batch<T, A>& y) {
  const __m256i mask = detail::mask_of_first_words<A>(n * static_cast<int64_t>(sizeof(T) / 4));
  if constexpr (sizeof(T) == 4) return _mm256_blendv_ps(y, x, _mm256_castsi256_ps(mask));
  else return _mm256_blendv_pd(y, x, _mm256_castsi256_pd(mask));
}

template <detail::AtAvx2 Arch, std::floating_point T>
inline batch<T, Arch> load_masked(const T* p, uint64_t bits, T fill) {
  const __m256i mask = detail::mask_of_bits<Arch, T>(bits);
  if constexpr (std::is_same_v<T, float>)
    return _mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask));
  else return _mm256_blendv_pd(_mm256_set1_pd(fill), _mm256_maskload_pd(p, mask), _mm256_castsi256_pd(mask));
}

template <detail::AtAvx2 Arch>
inline batch<float, Arch> load_pairs(const float* p, const int64_t* index) {
  const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index));
  const auto* from = reinterpret_cast<const double*>(p);
  return _mm256_castpd_ps(_mm256_i64gather_pd(from, at, sizeof(float)));
}

#endif

// ---- AVX-512 ---------------------------------------------------------------------------------------------

#if defined(__AVX512F__)

template <detail::AtAvx512 Arch, class T>
inline batch<T, Arch> load_n(const T* p, int64_t n) {
  const uint64_t ones = n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
  if constexpr (std::is_same_v<T, float>) return _mm512_maskz_loadu_ps(static_cast<__mmask16>(ones), p);
  else if constexpr (std::is_same_v<T, double>) return _mm512_maskz_loadu_pd(static_cast<__mmask8>(ones), p);
  else if constexpr (sizeof(T) == 8) return _mm512_maskz_loadu_epi64(static_cast<__mmask8>(ones), p);
  else if constexpr (sizeof(T) == 4) return _mm512_maskz_loadu_epi32(static_cast<__mmask16>(ones), p);
  else if constexpr (sizeof(T) == 2) return _mm512_maskz_loadu_epi16(static_cast<__mmask32>(ones), p);
  else return _mm512_maskz_loadu_epi8(static_cast<__mmask64>(ones), p);
}

template <detail::AtAvx512 Arch, class T>
inline batch<T, Arch> load_half(const T* p) {
  if constexpr (std::is_same_v<T, float>) return _mm512_zextps256_ps512(_mm256_loadu_ps(p));
  else return _mm512_zextsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

template <class T, detail::Zmm A>
inline void store_n(T* p, const xsimd::batch<T, A>& v, int64_t n) {
  const uint64_t ones = n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
  if constexpr (std::is_same_v<T, float>) _mm512_mask_storeu_ps(p, static_cast<__mmask16>(ones), v);
  else if constexpr (std::is_same_v<T, double>) _mm512_mask_storeu_pd(p, static_cast<__mmask8>(ones), v);
  else if constexpr (sizeof(T) == 8) _mm512_mask_storeu_epi64(p, static_cast<__mmask8>(ones), v);
  else if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(p, static_cast<__mmask16>(ones), v);
  else if constexpr (sizeof(T) == 2) _mm512_mask_storeu_epi16(p, static_cast<__mmask32>(ones), v);
  else _mm512_mask_storeu_epi8(p, static_cast<__mmask64>(ones), v);
}

template <class T, detail::Zmm A>
inline xsimd::batch<T, A> first_n(const xsimd::batch<T, A>& x, int64_t n, const xsimd::batch<T, A>& y) {
  const uint32_t ones = (1u << n) - 1;
  if constexpr (sizeof(T) == 4) return _mm512_mask_mov_ps(y, static_cast<__mmask16>(ones), x);
  else return _mm512_mask_mov_pd(y, static_cast<__mmask8>(ones), x);
}

template <detail::AtAvx512 Arch, class T>
inline batch<T, Arch> load_masked(const T* p, uint64_t bits, T fill) {
  const batch<T, Arch> other(fill);
  if constexpr (std::is_same_v<T, float>) return _mm512_mask_loadu_ps(other, static_cast<__mmask16>(bits), p);
  else if constexpr (std::is_same_v<T, double>)
    return _mm512_mask_loadu_pd(other, static_cast<__mmask8>(bits), p);
  else if constexpr (sizeof(T) == 8) return _mm512_mask_loadu_epi64(other, static_cast<__mmask8>(bits), p);
  else if constexpr (sizeof(T) == 4) return _mm512_mask_loadu_epi32(other, static_cast<__mmask16>(bits), p);
  else if constexpr (sizeof(T) == 2) return _mm512_mask_loadu_epi16(other, static_cast<__mmask32>(bits), p);
  else return _mm512_mask_loadu_epi8(other, static_cast<__mmask64>(bits), p);
}

template <detail::AtAvx512 Arch>
inline batch<float, Arch> load_pairs(const float* p, const int64_t* index) {
  const auto* from = reinterpret_cast<const double*>(p);
  return _mm512_castpd_ps(_mm512_i64gather_pd(_mm512_loadu_si512(index), from, sizeof(float)));
}

#endif

}  // namespace tenon::TENON_ABI::simd

#endif
