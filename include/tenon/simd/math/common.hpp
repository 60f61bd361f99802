// Elementary functions: bounds, signs, the square root, and the steps that several families share.
#pragma once

#include <cmath>

#include "tenon/simd/batch.hpp"
#include "tenon/simd/math/format.hpp"

namespace tenon::TENON_ABI::simd {

/// f of each lane, one by one: for functions whose vector form would not pay.
template <class T, class A, class F>
inline xsimd::batch<T, A> each_lane(const xsimd::batch<T, A>& x, F f) {
  alignas(64) T lane[xsimd::batch<T, A>::size];
  storeu(lane, x);
  for (T& v : lane) v = f(v);
  return xsimd::batch<T, A>::load_aligned(lane);
}
template <class T, class A, class F>
inline xsimd::batch<T, A> each_lane(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y, F f) {
  alignas(64) T lane[xsimd::batch<T, A>::size], other[xsimd::batch<T, A>::size];
  storeu(lane, x);
  storeu(other, y);
  for (std::size_t i = 0; i < xsimd::batch<T, A>::size; ++i) lane[i] = f(lane[i], other[i]);
  return xsimd::batch<T, A>::load_aligned(lane);
}

/// The square root, rounded correctly.
template <class T, class A>
inline xsimd::batch<T, A> sqrt(const xsimd::batch<T, A>& x) {
#if defined(__AVX512F__)
  // Newton's steps from an estimate of 1 / sqrt(x) take half as long as the instruction. They maintain the
  // root and half its reciprocal; the last one adds the remainder, which is exact from 2^-100 on.
  if constexpr (detail::bytes<A> == 64 && std::is_same_v<T, float>) {
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
  } else
#endif
    return xsimd::sqrt(x);
}

/// x, or `low` if x is less. NaN stays.
template <class T, class A>
inline xsimd::batch<T, A> at_least(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& low) {
  // The processor's maximum is its second operand if either is NaN, and if both are zeros.
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64 && std::is_same_v<T, float>) return _mm512_max_ps(low, x);
  else if constexpr (detail::bytes<A> == 64 && std::is_same_v<T, double>) return _mm512_max_pd(low, x);
  else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32 && std::is_same_v<T, float>)
    return _mm256_max_ps(low, x);
  else if constexpr (detail::bytes<A> == 32 && std::is_same_v<T, double>) return _mm256_max_pd(low, x);
  else
#endif
#if defined(__x86_64__)
      if constexpr (detail::bytes<A> == 16 && std::is_same_v<T, float>)
    return _mm_max_ps(low, x);
  else if constexpr (detail::bytes<A> == 16 && std::is_same_v<T, double>) return _mm_max_pd(low, x);
  else
#endif
    return xsimd::select(x < low, low, x);
}

/// x, or `high` if x is greater. NaN stays.
template <class T, class A>
inline xsimd::batch<T, A> at_most(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& high) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64 && std::is_same_v<T, float>) return _mm512_min_ps(high, x);
  else if constexpr (detail::bytes<A> == 64 && std::is_same_v<T, double>) return _mm512_min_pd(high, x);
  else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32 && std::is_same_v<T, float>)
    return _mm256_min_ps(high, x);
  else if constexpr (detail::bytes<A> == 32 && std::is_same_v<T, double>) return _mm256_min_pd(high, x);
  else
#endif
#if defined(__x86_64__)
      if constexpr (detail::bytes<A> == 16 && std::is_same_v<T, float>)
    return _mm_min_ps(high, x);
  else if constexpr (detail::bytes<A> == 16 && std::is_same_v<T, double>) return _mm_min_pd(high, x);
  else
#endif
    return xsimd::select(x > high, high, x);
}

namespace detail {

template <class B, class T, std::size_t n>
inline B polynomial(const B& x, const T (&c)[n]) {
  B y(c[n - 1]);
  for (std::size_t i = n - 1; i-- > 0;) y = mul_add(y, x, B(c[i]));
  return y;
}

/// The same as two chains, of the even and the odd powers, which the processor runs in parallel. xx is x^2.
template <class B, class T, std::size_t n>
inline B polynomial(const B& x, const B& xx, const T (&c)[n]) {
  B y(c[n - 1]), z(c[n - 2]);
  for (std::size_t i = n - 2; i-- > 0;)
    (i % 2 == n % 2 ? z : y) = mul_add(i % 2 == n % 2 ? z : y, xx, B(c[i]));
  return n % 2 ? mul_add(z, x, y) : mul_add(y, x, z);
}

/// z - x * y rounded once, guaranteed where the level has FMA: the compiler's choice in mul_add does not
/// suffice where the result is exact.
template <class T, class A>
inline xsimd::batch<T, A> fused_rest(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                     const xsimd::batch<T, A>& z) {
#if defined(__AVX512F__)
  if constexpr (bytes<A> == 64 && std::is_same_v<T, float>) return _mm512_fnmadd_ps(x, y, z);
  else if constexpr (bytes<A> == 64 && std::is_same_v<T, double>) return _mm512_fnmadd_pd(x, y, z);
  else
#endif
#if defined(__AVX2__) && defined(__FMA__)
      if constexpr (bytes<A> == 32 && std::is_same_v<T, float>)
    return _mm256_fnmadd_ps(x, y, z);
  else if constexpr (bytes<A> == 32 && std::is_same_v<T, double>) return _mm256_fnmadd_pd(x, y, z);
  else
#endif
    return mul_add(-x, y, z);
}

template <class T, class A>
inline xsimd::batch<T, A> copy_sign(const xsimd::batch<T, A>& magnitude, const xsimd::batch<T, A>& sign) {
  return xsimd::abs(magnitude) | (sign & xsimd::batch<T, A>(Format<T>::sign));
}

/// y where x has its sign bit set, as -0 has, else z.
template <class T, class A>
inline xsimd::batch<T, A> choose_negative(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                          const xsimd::batch<T, A>& z) {
#if defined(__AVX512F__)
  if constexpr (bytes<A> == 64 && std::is_same_v<T, float>)
    return _mm512_mask_mov_ps(z, _mm512_movepi32_mask(_mm512_castps_si512(x)), y);
  else if constexpr (bytes<A> == 64 && std::is_same_v<T, double>)
    return _mm512_mask_mov_pd(z, _mm512_movepi64_mask(_mm512_castpd_si512(x)), y);
  else
#endif
#if defined(__AVX2__)
      if constexpr (bytes<A> == 32 && std::is_same_v<T, float>)
    return _mm256_blendv_ps(z, y, x);
  else if constexpr (bytes<A> == 32 && std::is_same_v<T, double>) return _mm256_blendv_pd(z, y, x);
  else
#endif
  {
    // -1 for -0, as for any number with a sign
    const xsimd::batch<T, A> one(T(1));
    return xsimd::select((one | (x & xsimd::batch<T, A>(Format<T>::sign))) < xsimd::batch<T, A>(T(0)), y, z);
  }
}

/// y, but 0 where x is less than `low`.
template <class T, class A>
inline xsimd::batch<T, A> zero_below(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& low,
                                     const xsimd::batch<T, A>& y) {
#if defined(__AVX2__)
  if constexpr (bytes<A> == 32 && std::is_same_v<T, float>)
    return _mm256_andnot_ps(_mm256_cmp_ps(x, low, _CMP_LT_OQ), y);
  else if constexpr (bytes<A> == 32 && std::is_same_v<T, double>)
    return _mm256_andnot_pd(_mm256_cmp_pd(x, low, _CMP_LT_OQ), y);
  else
#endif
    return xsimd::select(x < low, xsimd::batch<T, A>(T(0)), y);
}

/// x (1 + above(z)) / below(z), z = x^2 and at most end^2; 1 where that is greater: an odd function that has
/// reached 1 at `end`.
template <class A, std::size_t n>
inline xsimd::batch<float, A> odd_quotient(const xsimd::batch<float, A>& x, float end,
                                           const float (&above)[n], const float (&below)[n]) {
  using B = xsimd::batch<float, A>;
  const B z = at_most(x * x, B(end * end));
  const B y = mul_add(x, polynomial(z, above), x) / polynomial(z, below);
  return at_most(at_least(y, B(-1.0f)), B(1.0f));
}

/// f(a, b) computed in double.
template <class A, class F>
inline xsimd::batch<float, A> through_double(const xsimd::batch<float, A>& a, const xsimd::batch<float, A>& b,
                                             F f) {
  using B = xsimd::batch<float, A>;
  using D = xsimd::batch<double, A>;
#if defined(__AVX512F__)
  if constexpr (bytes<A> == 64) {
    const auto low = [](__m512 v) { return D(_mm512_cvtps_pd(_mm512_castps512_ps256(v))); };
    const auto high = [](__m512 v) { return D(_mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1))); };
    const __m256 l = _mm512_cvtpd_ps(f(low(a), low(b))), h = _mm512_cvtpd_ps(f(high(a), high(b)));
    return B(_mm512_insertf32x8(_mm512_castps256_ps512(l), h, 1));
  } else
#endif
#if defined(__AVX2__)
      if constexpr (bytes<A> == 32) {
    const auto low = [](__m256 v) { return D(_mm256_cvtps_pd(_mm256_castps256_ps128(v))); };
    const auto high = [](__m256 v) { return D(_mm256_cvtps_pd(_mm256_extractf128_ps(v, 1))); };
    const __m128 l = _mm256_cvtpd_ps(f(low(a), low(b))), h = _mm256_cvtpd_ps(f(high(a), high(b)));
    return B(_mm256_insertf128_ps(_mm256_castps128_ps256(l), h, 1));
  } else
#endif
  {
    constexpr int width = static_cast<int>(B::size), half = static_cast<int>(D::size);
    alignas(64) float x[width], y[width];
    alignas(64) double p[width], q[width];
    storeu(x, a);
    storeu(y, b);
    for (int i = 0; i < width; ++i) p[i] = x[i], q[i] = y[i];
    for (int i = 0; i < width; i += half)
      storeu(p + i, f(D::load_unaligned(p + i), D::load_unaligned(q + i)));
    for (int i = 0; i < width; ++i) x[i] = static_cast<float>(p[i]);
    return B::load_aligned(x);
  }
}

}  // namespace detail

}  // namespace tenon::TENON_ABI::simd
