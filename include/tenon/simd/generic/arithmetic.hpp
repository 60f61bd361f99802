// Arithmetic of any processor, by xsimd or lane by lane.
#pragma once

#include "tenon/simd/batch/arithmetic.hpp"

namespace tenon::TENON_ABI::simd {

template <class T, class A>
xsimd::batch<T, A> floor(const xsimd::batch<T, A>& x) {
  return xsimd::floor(x);
}

template <class T, class A>
inline xsimd::batch<T, A> div(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  return x / y;
}

template <class T, class A>
inline xsimd::batch<T, A> mul_add(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                  const xsimd::batch<T, A>& z) {
  return xsimd::fma(x, y, z);
}

namespace detail {
template <bool greater, class T, class A>
inline xsimd::batch<T, A> extremum_or_first(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                            const xsimd::batch<T, A>& tested) {
  return xsimd::select((greater ? x > y : x < y) | xsimd::isnan(tested), x, y);
}

template <class T, class A>
inline T greatest_lane(const xsimd::batch<T, A>& v) {
  return fold_lanes(v, [](T a, T b) { return a > b ? a : b; });
}
}  // namespace detail

template <class T, class A>
inline xsimd::batch<T, A> bound(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& lo,
                                const xsimd::batch<T, A>& hi) {
  const xsimd::batch<T, A> y = xsimd::select(x < lo, lo, x);
  return xsimd::select(y > hi, hi, y);
}

template <class T, class A>
inline xsimd::batch<T, A> mul_wrap(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  constexpr int width = static_cast<int>(xsimd::batch<T, A>::size);
  alignas(64) T a[width];
  alignas(64) T b[width];
  storeu(a, x);
  storeu(b, y);
  using U = std::make_unsigned_t<T>;
  for (int i = 0; i < width; ++i) a[i] = static_cast<T>(static_cast<U>(a[i]) * static_cast<U>(b[i]));
  return xsimd::batch<T, A>::load_unaligned(a);
}

template <class T, class A>
inline T sum_of_lanes(const xsimd::batch<T, A>& v) {
  if constexpr (std::floating_point<T>) {
    return detail::add_lanes(v);
  } else {
    using U = std::make_unsigned_t<T>;
    return fold_lanes(v, [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); });
  }
}

}  // namespace tenon::TENON_ABI::simd
