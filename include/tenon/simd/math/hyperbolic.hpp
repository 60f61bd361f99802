// Elementary functions: hyperbolic functions and their inverses.
#pragma once

#include <cmath>
#include <limits>

#include "tenon/simd/math/exp_log.hpp"

namespace tenon::simd {

template <class T, class A>
inline xsimd::batch<T, A> tanh(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  if constexpr (std::is_same_v<T, float>) {
    static constexpr float above[] = {0, 0x1.120442p-3f, 0x1.c9f85ap-9f, 0x1.595564p-16f, 0x1.c9a3d2p-27f};
    static constexpr float below[] = {1, 0x1.de576ap-2f, 0x1.a7df26p-6f, 0x1.5841dcp-12f, 0x1.a0b866p-21f};
    return detail::odd_quotient(x, 9.02f, above, below);
  } else {
    const B a = xsimd::abs(x), q = detail::expm1_positive(at_most(a + a, B(T(44))));  // from 22 on it is 1
    return (q / (q + B(T(2)))) | (x & B(detail::Format<T>::sign));
  }
}

template <class T, class A>
inline xsimd::batch<T, A> sinh(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  const B a = xsimd::abs(x), half = detail::exp_times<-1>(a);
  const B small = mul_add(x * x * x, detail::polynomial(x * x, detail::Format<T>::sinh_poly), x);
  return xsimd::select(a < B(T(1)), small, detail::copy_sign(half - B(T(0.25)) / half, x));
}

template <class T, class A>
inline xsimd::batch<T, A> cosh(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  const B half = detail::exp_times<-1>(xsimd::abs(x));
  return half + B(T(0.25)) / half;
}

namespace detail {

/// log(f(x)) in double.
template <class A, class F>
inline xsimd::batch<float, A> log_in_double(const xsimd::batch<float, A>& x, F f) {
  using D = xsimd::batch<double, A>;
  return through_double(
      x, x, [&](const D& v, const D&) { return log_by<false>(Format<double>::log_poly, D(f(v))); });
}
/// y, but x + third x^3 for small x, with the sign of x.
template <class A>
inline xsimd::batch<float, A> odd_by(const xsimd::batch<float, A>& x, float third,
                                     const xsimd::batch<float, A>& y) {
  using B = xsimd::batch<float, A>;
  const B a = xsimd::abs(x);
  return copy_sign(xsimd::select(a < B(0x1p-12f), mul_add(a * a * a, B(third), a), y), x);
}

}  // namespace detail

/// The inverse hyperbolic functions of doubles are the C library's, lane by lane.
template <class T, class A>
inline xsimd::batch<T, A> asinh(const xsimd::batch<T, A>& x) {
  if constexpr (std::is_same_v<T, double>) return each_lane(x, [](T v) { return std::asinh(v); });
  else
    return detail::odd_by(x, -1.0f / 6,
                          detail::log_in_double(xsimd::batch<T, A>(xsimd::abs(x)), [](const auto& v) {
                            return v + simd::sqrt(mul_add(v, v, std::decay_t<decltype(v)>(1.0)));
                          }));
}
/// NaN below 1.
template <class T, class A>
inline xsimd::batch<T, A> acosh(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  if constexpr (std::is_same_v<T, double>) {
    return each_lane(x, [](T v) { return std::acosh(v); });
  } else {
    const B y = detail::log_in_double(x, [](const auto& v) {
      const std::decay_t<decltype(v)> one(1.0);
      return v + simd::sqrt((v - one) * (v + one));
    });
    return xsimd::select(x >= B(T(1)), y, B(std::numeric_limits<T>::quiet_NaN()));
  }
}
/// NaN beyond 1.
template <class T, class A>
inline xsimd::batch<T, A> atanh(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  if constexpr (std::is_same_v<T, double>) {
    return each_lane(x, [](T v) { return std::atanh(v); });
  } else {
    const B twice = detail::log_in_double(B(xsimd::abs(x)), [](const auto& v) {
      const std::decay_t<decltype(v)> one(1.0);
      return (one + v) / (one - v);
    });
    return detail::odd_by(x, 1.0f / 3, B(B(T(0.5)) * twice));
  }
}

}  // namespace tenon::simd
