// Steps of elementary functions on any processor.
#pragma once

#include "tenon/simd/math/common.hpp"

namespace tenon::TENON_ABI::simd {

template <class T, class A>
inline xsimd::batch<T, A> sqrt(const xsimd::batch<T, A>& x) {
  return xsimd::sqrt(x);
}

template <class T, class A>
inline xsimd::batch<T, A> at_least(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& low) {
  return xsimd::select(x < low, low, x);
}

template <class T, class A>
inline xsimd::batch<T, A> at_most(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& high) {
  return xsimd::select(x > high, high, x);
}

namespace detail {

template <class T, class A>
inline xsimd::batch<T, A> fused_rest(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                     const xsimd::batch<T, A>& z) {
  return mul_add(-x, y, z);
}

template <class T, class A>
inline xsimd::batch<T, A> choose_negative(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                          const xsimd::batch<T, A>& z) {
  // -1 for -0, as for any number with a sign
  const xsimd::batch<T, A> one(T(1));
  return xsimd::select((one | (x & xsimd::batch<T, A>(Format<T>::sign))) < xsimd::batch<T, A>(T(0)), y, z);
}

template <class T, class A>
inline xsimd::batch<T, A> zero_below(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& low,
                                     const xsimd::batch<T, A>& y) {
  return xsimd::select(x < low, xsimd::batch<T, A>(T(0)), y);
}

template <class A, class F>
inline xsimd::batch<float, A> through_double(const xsimd::batch<float, A>& a, const xsimd::batch<float, A>& b,
                                             F f) {
  using B = xsimd::batch<float, A>;
  using D = xsimd::batch<double, A>;
  constexpr int width = static_cast<int>(B::size), half = static_cast<int>(D::size);
  alignas(64) float x[width], y[width];
  alignas(64) double p[width], q[width];
  storeu(x, a);
  storeu(y, b);
  for (int i = 0; i < width; ++i) p[i] = x[i], q[i] = y[i];
  for (int i = 0; i < width; i += half) storeu(p + i, f(D::load_unaligned(p + i), D::load_unaligned(q + i)));
  for (int i = 0; i < width; ++i) x[i] = static_cast<float>(p[i]);
  return B::load_aligned(x);
}

template <bool table, class T, class A>
inline xsimd::batch<T, A> times_power_of_two(const xsimd::batch<T, A>& y, const xsimd::batch<T, A>& shifted) {
  using N = Format<T>;
  using U = typename N::Bits;
  using I = xsimd::batch<U, A>;
  // Two factors, whose exponents stay positive when halved because both biases are already included.
  constexpr U both = 2 * U{N::bias};
  const I bits = bits_as<U>(shifted);
  I biased;
  if constexpr (table) biased = (bits - I(std::bit_cast<U>(N::magic / 8) - 8 * both)) >> 3;
  else biased = bits - I(std::bit_cast<U>(N::magic) + U{N::bias} - both);
  const I half = biased >> 1;
  return y * bits_as<T>(half << N::mantissa) * bits_as<T>((biased - half) << N::mantissa);
}

}  // namespace detail

}  // namespace tenon::TENON_ABI::simd
