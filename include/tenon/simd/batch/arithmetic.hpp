// Arithmetic that xsimd lacks or implements differently, and reductions over the lanes of a vector.
#pragma once

#include <concepts>
#include <limits>

#include "tenon/simd/batch/memory.hpp"

namespace tenon::TENON_ABI::simd {

/// The greatest whole number not above x, with x's sign if it is zero.
template <class T, class A>
xsimd::batch<T, A> floor(const xsimd::batch<T, A>& x) {
  // SSE2 has no instruction for it, and xsimd then converts to integers, which is undefined for large
  // numbers.
  if constexpr (std::is_base_of_v<xsimd::sse2, A> && !std::is_base_of_v<xsimd::sse4_1, A>) {
    const xsimd::batch<T, A> near = xsimd::nearbyint(x);
    return select(near > x, near - T(1), near) | (x & xsimd::batch<T, A>(T(-0.0)));
  } else {
    return xsimd::floor(x);
  }
}
/// The least whole number not below x, with x's sign if it is zero.
template <class T, class A>
xsimd::batch<T, A> ceil(const xsimd::batch<T, A>& x) {
  const xsimd::batch<T, A> sign(T(-0.0));  // not by minus, which turns -0 into 0
  return simd::floor(x ^ sign) ^ sign;
}

/// x * y + z, rounded once where the level has FMA; Baseline on x86 may round twice.
template <class T, class A>
inline xsimd::batch<T, A> mul_add(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                  const xsimd::batch<T, A>& z) {
#if defined(__AVX512F__)
  // xsimd 8.1 uses a multiplication and an addition here, which not every compiler fuses.
  if constexpr (detail::bytes<A> == 64) {
    if constexpr (std::is_same_v<T, float>) return _mm512_fmadd_ps(x, y, z);
    else if constexpr (std::is_same_v<T, double>) return _mm512_fmadd_pd(x, y, z);
    else return xsimd::fma(x, y, z);
  } else
#endif
    return xsimd::fma(x, y, z);
}

namespace detail {
// The greater or the lesser; y if either is NaN, like x86's instruction, but x where `tested` is NaN.
template <bool greater, class T, class A>
inline xsimd::batch<T, A> extremum_or_first(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                            const xsimd::batch<T, A>& tested) {
  using B = xsimd::batch<T, A>;
#if defined(__AVX512F__)
  if constexpr (bytes<A> == 64 && sizeof(T) == 4) {
    const __mmask16 number = _mm512_cmp_ps_mask(tested, tested, _CMP_ORD_Q);
    return greater ? _mm512_mask_max_ps(x, number, x, y) : _mm512_mask_min_ps(x, number, x, y);
  } else if constexpr (bytes<A> == 64) {
    const __mmask8 number = _mm512_cmp_pd_mask(tested, tested, _CMP_ORD_Q);
    return greater ? _mm512_mask_max_pd(x, number, x, y) : _mm512_mask_min_pd(x, number, x, y);
  } else
#endif
  {
    const auto first = xsimd::isnan(tested);
#if defined(__AVX2__)
    if constexpr (bytes<A> == 32 && sizeof(T) == 4)
      return xsimd::select(first, x, B(greater ? _mm256_max_ps(x, y) : _mm256_min_ps(x, y)));
    else if constexpr (bytes<A> == 32)
      return xsimd::select(first, x, B(greater ? _mm256_max_pd(x, y) : _mm256_min_pd(x, y)));
    else
#endif
#if defined(__x86_64__)
        if constexpr (sizeof(T) == 4)
      return xsimd::select(first, x, B(greater ? _mm_max_ps(x, y) : _mm_min_ps(x, y)));
    else return xsimd::select(first, x, B(greater ? _mm_max_pd(x, y) : _mm_min_pd(x, y)));
#else
    return xsimd::select((greater ? x > y : x < y) | first, x, y);
#endif
  }
}
}  // namespace detail

/// The greater; NaN when either is NaN.
template <class T, class A>
inline xsimd::batch<T, A> max_nan(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  if constexpr (std::floating_point<T>) return detail::extremum_or_first<true>(x, y, x);
  else return xsimd::max(x, y);
}

/// The lesser; NaN when either is NaN.
template <class T, class A>
inline xsimd::batch<T, A> min_nan(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  if constexpr (std::floating_point<T>) return detail::extremum_or_first<false>(x, y, x);
  else return xsimd::min(x, y);
}

/// The greater; the other one when one is NaN.
template <class T, class A>
inline xsimd::batch<T, A> max_num(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  if constexpr (std::floating_point<T>) return detail::extremum_or_first<true>(x, y, y);
  else return xsimd::max(x, y);
}

/// x within [lo, hi], hi winning if they cross; NaN stays NaN. T: float, double.
template <class T, class A>
inline xsimd::batch<T, A> bound(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& lo,
                                const xsimd::batch<T, A>& hi) {
  // x86's maximum and minimum give their second operand if either is NaN.
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    if constexpr (sizeof(T) == 4) return _mm512_min_ps(hi, _mm512_max_ps(lo, x));
    else return _mm512_min_pd(hi, _mm512_max_pd(lo, x));
  } else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32) {
    if constexpr (sizeof(T) == 4) return _mm256_min_ps(hi, _mm256_max_ps(lo, x));
    else return _mm256_min_pd(hi, _mm256_max_pd(lo, x));
  } else
#endif
  {
    const xsimd::batch<T, A> y = xsimd::select(x < lo, lo, x);
    return xsimd::select(y > hi, hi, y);
  }
}

/// x * y of 32- or 64-bit integers, wrapping. (xsimd multiplies some of them as scalars that must not
/// overflow.)
template <class T, class A>
inline xsimd::batch<T, A> mul_wrap(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64) {
    if constexpr (sizeof(T) == 4) return _mm512_mullo_epi32(x, y);
    else return _mm512_mullo_epi64(x, y);
  } else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32 && sizeof(T) == 4) {
    return _mm256_mullo_epi32(x, y);
  } else
#endif
  {
    constexpr int width = static_cast<int>(xsimd::batch<T, A>::size);
    alignas(64) T a[width];
    alignas(64) T b[width];
    storeu(a, x);
    storeu(b, y);
    using U = std::make_unsigned_t<T>;
    for (int i = 0; i < width; ++i) a[i] = static_cast<T>(static_cast<U>(a[i]) * static_cast<U>(b[i]));
    return xsimd::batch<T, A>::load_unaligned(a);
  }
}

// ------------------------------------------------------------------------------------------------ reductions

/// Folds halves onto each other: the order depends on the lane count alone.
template <class T, class A, class F>
inline T fold_lanes(const xsimd::batch<T, A>& v, F f) {
  constexpr int width = static_cast<int>(xsimd::batch<T, A>::size);
  alignas(64) T lane[width];
  storeu(lane, v);
  for (int half = width / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] = f(lane[i], lane[i + half]);
  return lane[0];
}

/// The sum of all lanes (integers wrap).
template <class T, class A>
inline T sum_of_lanes(const xsimd::batch<T, A>& v) {
  if constexpr (std::floating_point<T>) {
#if defined(__AVX512F__)
    if constexpr (detail::bytes<A> == 64 && sizeof(T) == 4) return _mm512_reduce_add_ps(v);
    else if constexpr (detail::bytes<A> == 64) return _mm512_reduce_add_pd(v);
    else
#endif
#if XSIMD_VERSION_MAJOR >= 10
      return xsimd::reduce_add(v);
#else
    return xsimd::hadd(v);
#endif
  } else {
#if defined(__AVX512F__)
    if constexpr (detail::bytes<A> == 64 && sizeof(T) == 4) return static_cast<T>(_mm512_reduce_add_epi32(v));
    else
#endif
    {
      using U = std::make_unsigned_t<T>;
      return fold_lanes(v, [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); });
    }
  }
}

namespace detail {

#if defined(__x86_64__)
// The greatest of lanes that are numbers.
template <class A>
inline float greatest_lane(__m128 v) {
  v = _mm_max_ps(v, _mm_movehl_ps(v, v));
  return _mm_cvtss_f32(_mm_max_ss(v, _mm_shuffle_ps(v, v, 1)));
}
template <class A>
inline double greatest_lane(__m128d v) {
  return _mm_cvtsd_f64(_mm_max_sd(v, _mm_unpackhi_pd(v, v)));
}
#endif
#if defined(__AVX2__)
template <class A>
inline float greatest_lane(__m256 v) {
  return greatest_lane<A>(_mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1)));
}
template <class A>
inline double greatest_lane(__m256d v) {
  return greatest_lane<A>(_mm_max_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1)));
}
#endif
#if defined(__AVX512F__)
template <class A>
inline float greatest_lane(__m512 v) {
  return _mm512_reduce_max_ps(v);
}
template <class A>
inline double greatest_lane(__m512d v) {
  return _mm512_reduce_max_pd(v);
}
#endif

}  // namespace detail

/// The greatest lane; NaN when any lane is NaN. T: float, double.
template <class T, class A>
inline T max_of_lanes(const xsimd::batch<T, A>& v) {
  if (xsimd::any(xsimd::isnan(v))) return std::numeric_limits<T>::quiet_NaN();
#if defined(__x86_64__)
  return detail::greatest_lane<A>(v.data);
#else
  return fold_lanes(v, [](T a, T b) { return a > b ? a : b; });
#endif
}

/// The least lane; NaN when any lane is NaN. T: float, double.
template <class T, class A>
inline T min_of_lanes(const xsimd::batch<T, A>& v) {
  // -0 minus x, because 0 minus x would not flip the sign of 0.
  return -max_of_lanes(xsimd::batch<T, A>(T(-0.0)) - v);
}

}  // namespace tenon::TENON_ABI::simd
