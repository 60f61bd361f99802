// Conversions between float and double of x86.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/memory.hpp"

#if defined(TENON_X86_64)

namespace tenon::TENON_ABI::simd {

// ---- SSE2 ------------------------------------------------------------------------------------------------

template <detail::AtSse2 Arch>
inline batch<double, Arch> load_as_double(const float* p) {
  return _mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}

template <detail::Xmm A>
inline void store_as_float(float* p, const xsimd::batch<double, A>& v) {
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_castps_si128(_mm_cvtpd_ps(v)));
}

// ---- AVX2 ------------------------------------------------------------------------------------------------

#if defined(__AVX2__)

template <detail::AtAvx2 Arch>
inline batch<double, Arch> load_as_double(const float* p) {
  return _mm256_cvtps_pd(_mm_loadu_ps(p));
}

template <detail::AtAvx2 Arch>
inline batch<double, Arch> load_as_double(const float* p, int64_t n) {
  return _mm256_cvtps_pd(_mm_maskload_ps(p, _mm256_castsi256_si128(detail::mask_of_first_words<Arch>(n))));
}

template <detail::Ymm A>
inline void store_as_float(float* p, const xsimd::batch<double, A>& v) {
  _mm_storeu_ps(p, _mm256_cvtpd_ps(v));
}

template <detail::Ymm A>
inline void store_as_float(float* p, const xsimd::batch<double, A>& v, int64_t n) {
  _mm_maskstore_ps(p, _mm256_castsi256_si128(detail::mask_of_first_words<A>(n)), _mm256_cvtpd_ps(v));
}

#endif

// ---- AVX-512 ---------------------------------------------------------------------------------------------

#if defined(__AVX512F__)

template <detail::AtAvx512 Arch>
inline batch<double, Arch> load_as_double(const float* p) {
  return _mm512_cvtps_pd(_mm256_loadu_ps(p));
}

template <detail::AtAvx512 Arch>
inline batch<double, Arch> load_as_double(const float* p, int64_t n) {
  return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(static_cast<__mmask8>((1u << n) - 1), p));
}

template <detail::Zmm A>
inline void store_as_float(float* p, const xsimd::batch<double, A>& v) {
  _mm256_storeu_ps(p, _mm512_cvtpd_ps(v));
}

template <detail::Zmm A>
inline void store_as_float(float* p, const xsimd::batch<double, A>& v, int64_t n) {
  _mm256_mask_storeu_ps(p, static_cast<__mmask8>((1u << n) - 1), _mm512_cvtpd_ps(v));
}

#endif

}  // namespace tenon::TENON_ABI::simd

#endif
