// Arithmetic of x86. Its maximum and minimum give their second operand if either is NaN, and if both are
// zeros.
#pragma once

#include <concepts>
#include <type_traits>

#include "tenon/base/target.hpp"
#include "tenon/simd/batch/memory.hpp"

#if defined(TENON_X86_64)

namespace tenon::TENON_ABI::simd {

// ---- SSE2 ------------------------------------------------------------------------------------------------

// SSE2 has no instruction for it, and xsimd then converts to integers, which is undefined for large numbers.
template <class T, class A>
  requires(std::is_base_of_v<xsimd::sse2, A> && !std::is_base_of_v<xsimd::sse4_1, A>)
xsimd::batch<T, A> floor(const xsimd::batch<T, A>& x) {
  const xsimd::batch<T, A> near = xsimd::nearbyint(x);
  return select(near > x, near - T(1), near) | (x & xsimd::batch<T, A>(T(-0.0)));
}

namespace detail {

template <bool greater, class T, Xmm A>
inline xsimd::batch<T, A> extremum_or_first(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                            const xsimd::batch<T, A>& tested) {
  using B = xsimd::batch<T, A>;
  const auto first = xsimd::isnan(tested);
  if constexpr (sizeof(T) == 4)
    return xsimd::select(first, x, B(greater ? _mm_max_ps(x, y) : _mm_min_ps(x, y)));
  else return xsimd::select(first, x, B(greater ? _mm_max_pd(x, y) : _mm_min_pd(x, y)));
}

template <class A>
inline float greatest_of_xmm(__m128 v) {
  v = _mm_max_ps(v, _mm_movehl_ps(v, v));
  return _mm_cvtss_f32(_mm_max_ss(v, _mm_shuffle_ps(v, v, 1)));
}
template <class A>
inline double greatest_of_xmm(__m128d v) {
  return _mm_cvtsd_f64(_mm_max_sd(v, _mm_unpackhi_pd(v, v)));
}

template <class T, Xmm A>
inline T greatest_lane(const xsimd::batch<T, A>& v) {
  return greatest_of_xmm<A>(v.data);
}

}  // namespace detail

// ---- AVX2 ------------------------------------------------------------------------------------------------

#if defined(__AVX2__)

namespace detail {

template <bool greater, class T, Ymm A>
inline xsimd::batch<T, A> extremum_or_first(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                            const xsimd::batch<T, A>& tested) {
  using B = xsimd::batch<T, A>;
  const auto first = xsimd::isnan(tested);
  if constexpr (sizeof(T) == 4)
    return xsimd::select(first, x, B(greater ? _mm256_max_ps(x, y) : _mm256_min_ps(x, y)));
  else return xsimd::select(first, x, B(greater ? _mm256_max_pd(x, y) : _mm256_min_pd(x, y)));
}

template <class T, Ymm A>
inline T greatest_lane(const xsimd::batch<T, A>& v) {
  if constexpr (sizeof(T) == 4)
    return greatest_of_xmm<A>(_mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1)));
  else return greatest_of_xmm<A>(_mm_max_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1)));
}

}  // namespace detail

template <class T, detail::Ymm A>
inline xsimd::batch<T, A> bound(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& lo,
                                const xsimd::batch<T, A>& hi) {
  if constexpr (sizeof(T) == 4) return _mm256_min_ps(hi, _mm256_max_ps(lo, x));
  else return _mm256_min_pd(hi, _mm256_max_pd(lo, x));
}

template <class T, detail::Ymm A>
  requires(sizeof(T) == 4)
inline xsimd::batch<T, A> mul_wrap(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  return _mm256_mullo_epi32(x, y);
}

#endif

// ---- AVX-512 ---------------------------------------------------------------------------------------------

#if defined(__AVX512F__)

// xsimd 8.1 uses a multiplication and an addition here, which not every compiler fuses.
template <std::floating_point T, detail::Zmm A>
inline xsimd::batch<T, A> mul_add(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                  const xsimd::batch<T, A>& z) {
  if constexpr (sizeof(T) == 4) return _mm512_fmadd_ps(x, y, z);
  else return _mm512_fmadd_pd(x, y, z);
}

namespace detail {

template <bool greater, class T, Zmm A>
inline xsimd::batch<T, A> extremum_or_first(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                            const xsimd::batch<T, A>& tested) {
  if constexpr (sizeof(T) == 4) {
    const __mmask16 number = _mm512_cmp_ps_mask(tested, tested, _CMP_ORD_Q);
    return greater ? _mm512_mask_max_ps(x, number, x, y) : _mm512_mask_min_ps(x, number, x, y);
  } else {
    const __mmask8 number = _mm512_cmp_pd_mask(tested, tested, _CMP_ORD_Q);
    return greater ? _mm512_mask_max_pd(x, number, x, y) : _mm512_mask_min_pd(x, number, x, y);
  }
}

template <class T, Zmm A>
inline T greatest_lane(const xsimd::batch<T, A>& v) {
  if constexpr (sizeof(T) == 4) return _mm512_reduce_max_ps(v);
  else return _mm512_reduce_max_pd(v);
}

}  // namespace detail

template <class T, detail::Zmm A>
inline xsimd::batch<T, A> bound(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& lo,
                                const xsimd::batch<T, A>& hi) {
  if constexpr (sizeof(T) == 4) return _mm512_min_ps(hi, _mm512_max_ps(lo, x));
  else return _mm512_min_pd(hi, _mm512_max_pd(lo, x));
}

template <class T, detail::Zmm A>
inline xsimd::batch<T, A> mul_wrap(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  if constexpr (sizeof(T) == 4) return _mm512_mullo_epi32(x, y);
  else return _mm512_mullo_epi64(x, y);
}

template <class T, detail::Zmm A>
  requires(std::floating_point<T> || sizeof(T) == 4)
inline T sum_of_lanes(const xsimd::batch<T, A>& v) {
  if constexpr (std::is_same_v<T, float>) return _mm512_reduce_add_ps(v);
  else if constexpr (std::is_same_v<T, double>) return _mm512_reduce_add_pd(v);
  else return static_cast<T>(_mm512_reduce_add_epi32(v));
}

#endif

}  // namespace tenon::TENON_ABI::simd

#endif
