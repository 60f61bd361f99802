// Steps of elementary functions on x86. Its maximum and minimum give their second operand if either is NaN,
// and if both are zeros.
#pragma once

#include <concepts>
#include <type_traits>

#include "tenon/base/target.hpp"
#include "tenon/simd/batch.hpp"
#include "tenon/simd/math/format.hpp"

#if defined(TENON_X86_64)

namespace tenon::TENON_ABI::simd {

// ---- SSE2 ------------------------------------------------------------------------------------------------

template <std::floating_point T, detail::Xmm A>
inline xsimd::batch<T, A> at_least(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& low) {
  if constexpr (sizeof(T) == 4) return _mm_max_ps(low, x);
  else return _mm_max_pd(low, x);
}

template <std::floating_point T, detail::Xmm A>
inline xsimd::batch<T, A> at_most(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& high) {
  if constexpr (sizeof(T) == 4) return _mm_min_ps(high, x);
  else return _mm_min_pd(high, x);
}

// ---- AVX2 ------------------------------------------------------------------------------------------------

#if defined(__AVX2__)

template <std::floating_point T, detail::Ymm A>
inline xsimd::batch<T, A> at_least(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& low) {
  if constexpr (sizeof(T) == 4) return _mm256_max_ps(low, x);
  else return _mm256_max_pd(low, x);
}

template <std::floating_point T, detail::Ymm A>
inline xsimd::batch<T, A> at_most(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& high) {
  if constexpr (sizeof(T) == 4) return _mm256_min_ps(high, x);
  else return _mm256_min_pd(high, x);
}

namespace detail {

#if defined(__FMA__)
template <std::floating_point T, Ymm A>
inline xsimd::batch<T, A> fused_rest(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                     const xsimd::batch<T, A>& z) {
  if constexpr (sizeof(T) == 4) return _mm256_fnmadd_ps(x, y, z);
  else return _mm256_fnmadd_pd(x, y, z);
}
#endif

template <std::floating_point T, Ymm A>
inline xsimd::batch<T, A> choose_negative(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                          const xsimd::batch<T, A>& z) {
  if constexpr (sizeof(T) == 4) return _mm256_blendv_ps(z, y, x);
  else return _mm256_blendv_pd(z, y, x);
}

template <std::floating_point T, Ymm A>
inline xsimd::batch<T, A> zero_below(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& low,
                                     const xsimd::batch<T, A>& y) {
  if constexpr (sizeof(T) == 4) return _mm256_andnot_ps(_mm256_cmp_ps(x, low, _CMP_LT_OQ), y);
  else return _mm256_andnot_pd(_mm256_cmp_pd(x, low, _CMP_LT_OQ), y);
}

template <Ymm A, class F>
inline xsimd::batch<float, A> through_double(const xsimd::batch<float, A>& a, const xsimd::batch<float, A>& b,
                                             F f) {
  using B = xsimd::batch<float, A>;
  using D = xsimd::batch<double, A>;
  const auto low = [](__m256 v) { return D(_mm256_cvtps_pd(_mm256_castps256_ps128(v))); };
  const auto high = [](__m256 v) { return D(_mm256_cvtps_pd(_mm256_extractf128_ps(v, 1))); };
  const __m128 l = _mm256_cvtpd_ps(f(low(a), low(b))), h = _mm256_cvtpd_ps(f(high(a), high(b)));
  return B(_mm256_insertf128_ps(_mm256_castps128_ps256(l), h, 1));
}

}  // namespace detail

#endif

// ---- AVX-512 ---------------------------------------------------------------------------------------------

#if defined(__AVX512F__)

// Newton's steps from an estimate of 1 / sqrt(x) take half as long as the instruction. They maintain the root
// and half its reciprocal; the last one adds the remainder, which is exact from 2^-100 on.
template <std::same_as<float> T, detail::Zmm A>
inline xsimd::batch<T, A> sqrt(const xsimd::batch<T, A>& x) {
  constexpr int least = (127 - 100) << 23, infinity = 255 << 23;
  const __m512i above = _mm512_sub_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(least));
  const __mmask16 plain = _mm512_cmplt_epu32_mask(above, _mm512_set1_epi32(infinity - least));
  if (_mm512_mask_cmp_ps_mask(static_cast<__mmask16>(~plain), x, _mm512_setzero_ps(), _CMP_NEQ_UQ) != 0)
    return _mm512_sqrt_ps(x);
  const __m512 half = _mm512_set1_ps(0.5f), estimate = _mm512_maskz_rsqrt14_ps(plain, x);
  __m512 root = _mm512_mul_ps(x, estimate), slope = _mm512_mul_ps(estimate, half);
  const __m512 rest = _mm512_fnmadd_ps(root, slope, half);
  root = _mm512_fmadd_ps(root, rest, root);
  slope = _mm512_fmadd_ps(slope, rest, slope);
  return _mm512_fmadd_ps(_mm512_fnmadd_ps(root, root, x), slope, root);
}

template <std::floating_point T, detail::Zmm A>
inline xsimd::batch<T, A> at_least(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& low) {
  if constexpr (sizeof(T) == 4) return _mm512_max_ps(low, x);
  else return _mm512_max_pd(low, x);
}

template <std::floating_point T, detail::Zmm A>
inline xsimd::batch<T, A> at_most(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& high) {
  if constexpr (sizeof(T) == 4) return _mm512_min_ps(high, x);
  else return _mm512_min_pd(high, x);
}

namespace detail {

template <std::floating_point T, Zmm A>
inline xsimd::batch<T, A> fused_rest(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                     const xsimd::batch<T, A>& z) {
  if constexpr (sizeof(T) == 4) return _mm512_fnmadd_ps(x, y, z);
  else return _mm512_fnmadd_pd(x, y, z);
}

template <std::floating_point T, Zmm A>
inline xsimd::batch<T, A> choose_negative(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                          const xsimd::batch<T, A>& z) {
  if constexpr (sizeof(T) == 4) return _mm512_mask_mov_ps(z, _mm512_movepi32_mask(_mm512_castps_si512(x)), y);
  else return _mm512_mask_mov_pd(z, _mm512_movepi64_mask(_mm512_castpd_si512(x)), y);
}

template <Zmm A, class F>
inline xsimd::batch<float, A> through_double(const xsimd::batch<float, A>& a, const xsimd::batch<float, A>& b,
                                             F f) {
  using B = xsimd::batch<float, A>;
  using D = xsimd::batch<double, A>;
  const auto low = [](__m512 v) { return D(_mm512_cvtps_pd(_mm512_castps512_ps256(v))); };
  const auto high = [](__m512 v) { return D(_mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1))); };
  const __m256 l = _mm512_cvtpd_ps(f(low(a), low(b))), h = _mm512_cvtpd_ps(f(high(a), high(b)));
  return B(_mm512_insertf32x8(_mm512_castps256_ps512(l), h, 1));
}

template <bool table, std::floating_point T, Zmm A>
inline xsimd::batch<T, A> times_power_of_two(const xsimd::batch<T, A>& y, const xsimd::batch<T, A>& shifted) {
  using N = Format<T>;
  const xsimd::batch<T, A> n = shifted - xsimd::batch<T, A>(table ? N::magic / 8 : N::magic + T(N::bias));
  if constexpr (sizeof(T) == 4) return _mm512_scalef_ps(y, n);
  else return _mm512_scalef_pd(y, n);
}

}  // namespace detail

#endif

}  // namespace tenon::TENON_ABI::simd

#endif
