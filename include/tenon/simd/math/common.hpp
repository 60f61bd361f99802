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
inline xsimd::batch<T, A> sqrt(const xsimd::batch<T, A>& x);

/// x, or `low` if x is less. NaN stays.
template <class T, class A>
inline xsimd::batch<T, A> at_least(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& low);

/// x, or `high` if x is greater. NaN stays.
template <class T, class A>
inline xsimd::batch<T, A> at_most(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& high);

namespace detail {

/// z - x * y rounded once, guaranteed where the level has FMA: the compiler's choice in mul_add does not
/// suffice where the result is exact.
template <class T, class A>
inline xsimd::batch<T, A> fused_rest(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                     const xsimd::batch<T, A>& z);

/// y where x has its sign bit set, as -0 has, else z.
template <class T, class A>
inline xsimd::batch<T, A> choose_negative(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                          const xsimd::batch<T, A>& z);

/// y, but 0 where x is less than `low`.
template <class T, class A>
inline xsimd::batch<T, A> zero_below(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& low,
                                     const xsimd::batch<T, A>& y);

/// f(a, b) computed in double.
template <class A, class F>
inline xsimd::batch<float, A> through_double(const xsimd::batch<float, A>& a, const xsimd::batch<float, A>& b,
                                             F f);

/// y 2^n for n and its addend in `shifted` (exp_log.hpp): results may be denormals or overflow.
template <bool table, class T, class A>
inline xsimd::batch<T, A> times_power_of_two(const xsimd::batch<T, A>& y, const xsimd::batch<T, A>& shifted);

}  // namespace detail

}  // namespace tenon::TENON_ABI::simd

#include "tenon/simd/arm/math.hpp"
#include "tenon/simd/x86/math.hpp"

#include "tenon/simd/generic/math.hpp"

namespace tenon::TENON_ABI::simd {

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

template <class T, class A>
inline xsimd::batch<T, A> copy_sign(const xsimd::batch<T, A>& magnitude, const xsimd::batch<T, A>& sign) {
  return xsimd::abs(magnitude) | (sign & xsimd::batch<T, A>(Format<T>::sign));
}

/// x (1 + above(z)) / below(z), z = x^2 and at most end^2; 1 where that is greater: an odd function that has
/// reached 1 at `end`.
template <class A, std::size_t n>
inline xsimd::batch<float, A> odd_quotient(const xsimd::batch<float, A>& x, float end,
                                           const float (&above)[n], const float (&below)[n]) {
  using B = xsimd::batch<float, A>;
  const B z = at_most(x * x, B(end * end));
  const B y = simd::div(mul_add(x, polynomial(z, above), x), polynomial(z, below));
  return at_most(at_least(y, B(-1.0f)), B(1.0f));
}

}  // namespace detail

}  // namespace tenon::TENON_ABI::simd
