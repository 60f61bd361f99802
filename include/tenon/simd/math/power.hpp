// Elementary functions: powers, and the rests of divisions.
#pragma once

#include <cmath>
#include <limits>

#include "tenon/simd/math/exp_log.hpp"

namespace tenon::simd {

namespace detail {

/// x^y for the magnitude x of a float, to the digits of a float with some to spare.
template <class A>
inline xsimd::batch<double, A> power_of_float(const xsimd::batch<double, A>& x,
                                              const xsimd::batch<double, A>& y) {
  using D = xsimd::batch<double, A>;
  static constexpr double log_poly[] = {0x1.5555555564fb5p-1, 0x1.999998ca5f23cp-2, 0x1.2493244fc423fp-2,
                                        0x1.c67aab6847fa4p-3, 0x1.8c8f3d6b075b7p-3};
  static constexpr double exp_poly[] = {0x1.0000004194fb6p-1, 0x1.555555287ae42p-3,  0x1.5554825e1ad16p-5,
                                        0x1.11111ec085880p-7, 0x1.6d9515e365111p-10, 0x1.a0dafa82107ebp-13};
  // Beyond 700 floats are 0 and infinity.
  const D exponent = at_most(at_least(y * log_by<false>(log_poly, x), D(-700.0)), D(700.0));
  const auto e = exp_parts<false, 0>(exponent);
  const D scale = power_of_two<false>(e.shifted), rr = e.r * e.r;
  return mul_add(scale, mul_add(rr, polynomial(e.r, rr, exp_poly), e.r), scale);
}

}  // namespace detail

/// x to the power y, with all of pow's special cases. double: the C library's, lane by lane.
template <class T, class A>
inline xsimd::batch<T, A> pow(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  if constexpr (std::is_same_v<T, double>) {
    return each_lane(x, y, [](double a, double b) { return std::pow(a, b); });
  } else {
    using B = xsimd::batch<float, A>;
    using D = xsimd::batch<double, A>;
    const B one(1.0f), zero(0.0f), a = xsimd::abs(x);
    B r = detail::through_double(a, y, [](const D& p, const D& q) { return detail::power_of_float(p, q); });
    r = xsimd::select((a == one) | (y == zero), one, r);
    const auto whole = simd::floor(y) == y;
    const B half = B(0.5f) * y;
    const auto odd = whole & (simd::floor(half) != half);
    r = xsimd::select(odd, r | (x & B(-0.0f)), r);
    const B nan(std::numeric_limits<float>::quiet_NaN());
    r = xsimd::select((x < zero) & (x >= B(std::numeric_limits<float>::lowest())) & !whole, nan, r);
    return xsimd::select(xsimd::isnan(y) & !(x == one), y, r);
  }
}

/// The rest of x / y with the sign of x, exact, as C's fmod.
template <class T, class A>
inline xsimd::batch<T, A> fmod(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  using B = xsimd::batch<T, A>;
  constexpr bool fused = !std::is_same_v<B, batch<T, Baseline>>;
  if constexpr (fused) {
    // While the quotient is a whole number that T holds, q or q - 1 is it, and x - q y is exact in one
    // rounding.
    const B a = xsimd::abs(x), b = xsimd::abs(y), q = simd::floor(a / b);
    const auto direct = (q < B(T(uint64_t{1} << detail::Format<T>::mantissa))) &
                        (b >= B(detail::Format<T>::least_normal)) & (b < B(detail::Format<T>::infinity));
    if (xsimd::all(direct)) {
      const B rest = detail::fused_rest(q, b, a);
      return detail::copy_sign(xsimd::select(rest < B(T(0)), rest + b, rest), x);
    }
  }
  return each_lane(x, y, [](T a, T b) { return std::fmod(a, b); });
}

/// The rest of x / y with the sign of y, as Python's %.
template <class T, class A>
inline xsimd::batch<T, A> mod(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  using B = xsimd::batch<T, A>;
  const B zero(T(0)), rest = simd::fmod(x, y);
  const B wrapped = xsimd::select((rest < zero) & (y > zero), rest + y, rest);
  const B other = xsimd::select((rest > zero) & (y < zero), rest + y, wrapped);
  return xsimd::select(rest == zero, detail::copy_sign(zero, y), other);
}

}  // namespace tenon::simd
