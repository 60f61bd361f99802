// Arithmetic that xsimd lacks or implements differently, and reductions over the lanes of a vector.
#pragma once

#include <concepts>
#include <limits>

#include "tenon/simd/batch/memory.hpp"

namespace tenon::TENON_ABI::simd {

/// The greatest whole number not above x, with x's sign if it is zero.
template <class T, class A>
xsimd::batch<T, A> floor(const xsimd::batch<T, A>& x);

/// x / y, rounded correctly, which x / y of xsimd is not at every level. T: float, double.
template <class T, class A>
inline xsimd::batch<T, A> div(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y);

/// x * y + z, rounded once where the level has FMA; Baseline on x86 may round twice.
template <class T, class A>
inline xsimd::batch<T, A> mul_add(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                  const xsimd::batch<T, A>& z);

namespace detail {
/// The greater or the lesser; y if either is NaN, but x where `tested` is NaN. T: float, double.
template <bool greater, class T, class A>
inline xsimd::batch<T, A> extremum_or_first(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                            const xsimd::batch<T, A>& tested);

/// The greatest of lanes that are numbers. T: float, double.
template <class T, class A>
inline T greatest_lane(const xsimd::batch<T, A>& v);
}  // namespace detail

/// x within [lo, hi], hi winning if they cross; NaN stays NaN. T: float, double.
template <class T, class A>
inline xsimd::batch<T, A> bound(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& lo,
                                const xsimd::batch<T, A>& hi);

/// x * y of 32- or 64-bit integers, wrapping. (xsimd multiplies some of them as scalars that must not
/// overflow.)
template <class T, class A>
inline xsimd::batch<T, A> mul_wrap(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y);

/// The sum of all lanes (integers wrap).
template <class T, class A>
inline T sum_of_lanes(const xsimd::batch<T, A>& v);

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

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/arm/arithmetic.hpp"
#include "tenon/simd/wasm/arithmetic.hpp"
#include "tenon/simd/x86/arithmetic.hpp"

#include "tenon/simd/generic/arithmetic.hpp"

namespace tenon::TENON_ABI::simd {

/// The least whole number not below x, with x's sign if it is zero.
template <class T, class A>
xsimd::batch<T, A> ceil(const xsimd::batch<T, A>& x) {
  const xsimd::batch<T, A> sign(T(-0.0));  // not by minus, which turns -0 into 0
  return simd::floor(x ^ sign) ^ sign;
}

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

/// The greatest lane; NaN when any lane is NaN. T: float, double.
template <class T, class A>
inline T max_of_lanes(const xsimd::batch<T, A>& v) {
  if (xsimd::any(xsimd::isnan(v))) return std::numeric_limits<T>::quiet_NaN();
  return detail::greatest_lane(v);
}

/// The least lane; NaN when any lane is NaN. T: float, double.
template <class T, class A>
inline T min_of_lanes(const xsimd::batch<T, A>& v) {
  // -0 minus x, because 0 minus x would not flip the sign of 0.
  return -max_of_lanes(xsimd::batch<T, A>(T(-0.0)) - v);
}

}  // namespace tenon::TENON_ABI::simd
