// Elementary functions of batch<float> and batch<double>. Call them qualified (simd::exp): xsimd has the same names.
#pragma once

#include <cmath>

#include "tenon/simd/batch.hpp"

namespace tenon::simd {

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

namespace detail {

template <class T>
struct Binary;
template <>
struct Binary<float> {
  using bits = uint32_t;
  static constexpr int mantissa = 23, bias = 127;
  static constexpr float magic = 0x1.8p23f;  // adding it rounds to an integer, which the low bits then hold
  static constexpr float exp_low = -104, exp_high = 89;
  static constexpr float log2e = 0x1.715476p0f, ln2_high = 0x1.63p-1f, ln2_low = -0x1.bd0106p-13f;
  // (exp(r) - 1 - r) / r^2 on |r| <= ln(2)/2
  static constexpr float exp_poly[] = {0x1.fffffcp-2f, 0x1.555494p-3f, 0x1.555888p-5f, 0x1.123846p-7f,
                                       0x1.6a7822p-10f};
  // (2 atanh(s) - 2s) / s^3 in s^2
  static constexpr float log_poly[] = {0x1.555556p-1f, 0x1.9998b8p-2f, 0x1.24a34ap-2f, 0x1.d4080ep-3f};
  static constexpr float sqrt_half = 0x1.6a09e6p-1f, denormal_scale = 0x1p25f, least_normal = 0x1p-126f;
  static constexpr float denormal_exponent = 25;
};
template <>
struct Binary<double> {
  using bits = uint64_t;
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr double magic = 0x1.8p52;
  static constexpr double exp_low = -746, exp_high = 710;
  static constexpr double log2e = 0x1.71547652b82fep0, ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
  static constexpr double exp_poly[] = {0x1.0000000000009p-1,  0x1.55555555553a9p-3,  0x1.5555555551281p-5,
                                        0x1.1111111171e23p-7,  0x1.6c16c18065243p-10, 0x1.a019ff382cf30p-13,
                                        0x1.a019a8139ecf1p-16, 0x1.71e4cd6117b46p-19, 0x1.289dc2e107a97p-22,
                                        0x1.a24c180263205p-26};
  static constexpr double log_poly[] = {0x1.555555555557cp-1, 0x1.999999998568bp-2, 0x1.2492493df15cep-2,
                                        0x1.c71c54d000f8ep-3, 0x1.7465be8e41d0ap-3, 0x1.39ad5ac5faf98p-3,
                                        0x1.2e9a8fe1fed77p-3};
  static constexpr double sqrt_half = 0x1.6a09e667f3bcdp-1, denormal_scale = 0x1p54, least_normal = 0x1p-1022;
  static constexpr double denormal_exponent = 54;
};

template <class B, class T, std::size_t n>
inline B polynomial(const B& x, const T (&c)[n]) {
  B y(c[n - 1]);
  for (std::size_t i = n - 1; i-- > 0;) y = mul_add(y, x, B(c[i]));
  return y;
}

}  // namespace detail

template <class T, class A>
inline xsimd::batch<T, A> exp(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  using N = detail::Binary<T>;
  using U = typename N::bits;
  using I = xsimd::batch<U, A>;
  B v = xsimd::select(x < B(N::exp_low), B(N::exp_low), x);  // NaN stays
  v = xsimd::select(v > B(N::exp_high), B(N::exp_high), v);
  const B shifted = mul_add(v, B(N::log2e), B(N::magic));
  const B n = shifted - B(N::magic);
  const B r = mul_add(n, B(-N::ln2_low), mul_add(n, B(-N::ln2_high), v));
  const B p = B(T(1)) + mul_add(r * r, detail::polynomial(r, N::exp_poly), r);
  // 2^n in two factors: n = -149 .. 128 has denormals and twice the greatest power of two at its ends. Biased by an
  // even number first, so that halving is a logical shift.
  constexpr U bias = U{N::bias};
  const I biased = bits_as<U>(shifted) - I(std::bit_cast<U>(N::magic) - 2 * bias);
  const I half = biased >> 1;
  return p * bits_as<T>(half << N::mantissa) * bits_as<T>((biased - half) << N::mantissa);
}

template <class T, class A>
inline xsimd::batch<T, A> log(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  using N = detail::Binary<T>;
  using U = typename N::bits;
  using I = xsimd::batch<U, A>;
  const auto tiny = x < B(N::least_normal);
  const B scaled = xsimd::select(tiny, x * B(N::denormal_scale), x);
  constexpr U root = std::bit_cast<U>(N::sqrt_half), one = std::bit_cast<U>(T(1));
  const I moved = bits_as<U>(scaled) + I(one - root);
  const I exponent_bits = (moved >> N::mantissa) | I(std::bit_cast<U>(T(U{1} << N::mantissa)));
  B e = bits_as<T>(exponent_bits) - B(T(U{1} << N::mantissa) + T(N::bias));
  e = xsimd::select(tiny, e - B(N::denormal_exponent), e);
  const B f = bits_as<T>((moved & I((U{1} << N::mantissa) - 1)) + I(root)) - B(T(1));
  // log(1+f) = f - f^2/2 + s (f^2/2 + R(s^2)), s = f / (2 + f)
  const B s = f / (f + B(T(2))), z = s * s, half = B(T(0.5)) * f * f;
  const B rest = mul_add(s, half + z * detail::polynomial(z, N::log_poly), e * B(N::ln2_low));
  B y = mul_add(e, B(N::ln2_high), f - (half - rest));
  y = xsimd::select(x == B(T(0)), B(-std::numeric_limits<T>::infinity()), y);
  y = xsimd::select(x == B(std::numeric_limits<T>::infinity()), x, y);
  return xsimd::select(x >= B(T(0)), y, B(std::numeric_limits<T>::quiet_NaN()));
}

template <class B>
inline B expm1(const B& x) {
  return each_lane(x, [](typename B::value_type v) { return std::expm1(v); });
}
template <class B>
inline B log1p(const B& x) {
  return each_lane(x, [](typename B::value_type v) { return std::log1p(v); });
}
template <class B>
inline B tanh(const B& x) {
  return each_lane(x, [](typename B::value_type v) { return std::tanh(v); });
}
template <class B>
inline B erf(const B& x) {
  return each_lane(x, [](typename B::value_type v) { return std::erf(v); });
}
template <class B>
inline B sigmoid(const B& x) {
  using T = typename B::value_type;
  return B(T(1)) / (B(T(1)) + simd::exp(-x));
}
template <class B>
inline B gelu(const B& x) {
  using T = typename B::value_type;
  return B(T(0.5)) * x * (B(T(1)) + simd::erf(x * B(T(0.70710678118654752440))));
}
template <class B>
inline B gelu_tanh(const B& x) {
  using T = typename B::value_type;
  return x * simd::sigmoid(B(T(1.5957691216057307)) * mul_add(B(T(0.044715)) * x * x, x, x));
}
template <class B>
inline B softplus(const B& x) {
  using T = typename B::value_type;
  return xsimd::select(x < B(T(0)), B(T(0)), x) + simd::log1p(simd::exp(-xsimd::abs(x)));
}
template <class B>
inline B sin(const B& x) {
  return each_lane(x, [](typename B::value_type v) { return std::sin(v); });
}
template <class B>
inline B cos(const B& x) {
  return each_lane(x, [](typename B::value_type v) { return std::cos(v); });
}
template <class B>
inline B pow(const B& x, const B& y) {
  using T = typename B::value_type;
  return each_lane(x, y, [](T a, T b) { return std::pow(a, b); });
}

}  // namespace tenon::simd
