// Elementary functions: hyperbolic functions and their inverses.
#pragma once

#include <cmath>
#include <limits>

#include "tenon/simd/math/exp_log.hpp"

namespace tenon::TENON_ABI::simd {

template <class T, class A>
inline xsimd::batch<T, A> tanh(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  if constexpr (std::is_same_v<T, float>) {
    static constexpr float above[] = {0, 0x1.120442p-3f, 0x1.c9f85ap-9f, 0x1.595564p-16f, 0x1.c9a3d2p-27f};
    static constexpr float below[] = {1, 0x1.de576ap-2f, 0x1.a7df26p-6f, 0x1.5841dcp-12f, 0x1.a0b866p-21f};
    return detail::odd_quotient(x, 9.02f, above, below);
  } else {
    const B a = xsimd::abs(x), q = detail::expm1_positive(at_most(a + a, B(T(44))));  // from 22 on it is 1
    return simd::div(q, q + B(T(2))) | (x & B(detail::Format<T>::sign));
  }
}

template <class T, class A>
inline xsimd::batch<T, A> sinh(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  const B a = xsimd::abs(x), half = detail::exp_times<-1>(a);
  const B small = mul_add(x * x * x, detail::polynomial(x * x, detail::Format<T>::sinh_poly), x);
  return xsimd::select(a < B(T(1)), small, detail::copy_sign(half - simd::div(B(T(0.25)), half), x));
}

template <class T, class A>
inline xsimd::batch<T, A> cosh(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  const B half = detail::exp_times<-1>(xsimd::abs(x));
  return half + simd::div(B(T(0.25)), half);
}

namespace detail {

/// end(log(f(x))) of floats, with the logarithm in double. For doubles, `library` of each lane: the C
/// library's.
template <class T, class A, class Library, class F, class End>
inline xsimd::batch<T, A> log_in_double(const xsimd::batch<T, A>& x, Library library, F f, End end) {
  using D = xsimd::batch<double, A>;
  if constexpr (std::is_same_v<T, double>) return each_lane(x, library);
  else
    return end(through_double(
        x, x, [&](const D& v, const D&) { return log_by<false>(Format<double>::log_poly, D(f(v))); }));
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

template <class T, class A>
inline xsimd::batch<T, A> asinh(const xsimd::batch<T, A>& x) {
  using D = xsimd::batch<double, A>;
  return detail::log_in_double(
      x, [](double v) { return std::asinh(v); },
      [](const D& v) { return xsimd::abs(v) + simd::sqrt(mul_add(v, v, D(1.0))); },
      [&](const auto& y) { return detail::odd_by(x, -1.0f / 6, y); });
}
/// NaN below 1.
template <class T, class A>
inline xsimd::batch<T, A> acosh(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  using D = xsimd::batch<double, A>;
  return detail::log_in_double(
      x, [](double v) { return std::acosh(v); },
      [](const D& v) { return v + simd::sqrt((v - D(1.0)) * (v + D(1.0))); },
      [&](const B& y) { return xsimd::select(x >= B(T(1)), y, B(std::numeric_limits<T>::quiet_NaN())); });
}
/// NaN beyond 1.
template <class T, class A>
inline xsimd::batch<T, A> atanh(const xsimd::batch<T, A>& x) {
  using D = xsimd::batch<double, A>;
  return detail::log_in_double(
      x, [](double v) { return std::atanh(v); },
      [](const D& v) { return simd::div(D(1.0) + xsimd::abs(v), D(1.0) - xsimd::abs(v)); },
      [&](const auto& y) { return detail::odd_by(x, 1.0f / 3, std::decay_t<decltype(y)>(0.5f) * y); });
}

}  // namespace tenon::TENON_ABI::simd
