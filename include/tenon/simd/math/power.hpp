// Elementary functions: powers, and remainders of divisions.
#pragma once

#include <cmath>
#include <limits>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/simd/math/exp_log.hpp"

namespace tenon::TENON_ABI::simd {

namespace detail {

/// x^y for the magnitude x of a float, to the precision of a float with some to spare.
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

/// The eighths of [sqrt(1/2), sqrt(2)), each twice: c near the reciprocals of an eighth's numbers m, with so
/// few digits that 1 - c m is a float, and -log2(c) in two parts, the first of which keeps its digits when a
/// whole number is added.
struct EighthsOfLog {
  alignas(64) float reciprocal[16], high[16], low[16];
  constexpr EighthsOfLog() : reciprocal{}, high{}, low{} {
    constexpr float of[3][8] = {
        {1.375f, 1.25f, 1.1875f, 1.0625f, 1, 0.90625f, 0.8125f, 0.75f},
        {-0x1.d678p-2f, -0x1.49a8p-2f, -0x1.fbcp-3f, -0x1.664p-4f, 0, 0x1.22ep-3f, 0x1.32cp-2f, 0x1.a9p-2f},
        {0x1.60fe68p-17f, 0x1.ed0cbap-20f, -0x1.6b9026p-19f, 0x1.20a6dep-21f, 0, -0x1.48f554p-17f,
         -0x1.1c8f12p-22f, -0x1.a39fbep-20f}};
    for (int k = 0; k < 16; ++k) reciprocal[k] = of[0][k % 8], high[k] = of[1][k % 8], low[k] = of[2][k % 8];
  }
};
inline constexpr EighthsOfLog eighths_of_log;

/// The fraction by which exp_table's floats are below 2^(k/8).
struct ExpTableRest {
  alignas(64) float share[16];
  constexpr ExpTableRest() : share{} {
    constexpr float of[] = {0,
                            -0x1.9c0c22p-27f,
                            0x1.125002p-25f,
                            -0x1.0a355p-25f,
                            0x1.26055cp-26f,
                            0x1.67a1cap-28f,
                            -0x1.f9c304p-27f,
                            -0x1.a5217cp-28f};
    for (int k = 0; k < 16; ++k) share[k] = of[k % 8];
  }
};
inline constexpr ExpTableRest exp_table_rest;

/// A number as the sum of two floats, the second less than a hundredth of the first.
template <class B>
struct TwoFloats {
  B high, low;
};

/// A product that stays rounded when it is added to: GCC would fuse both operations.
template <class B>
inline B rounded(const B& product) {
  return in_register(product);
}

/// log2(x) for a normal x > 0, with a relative error of 2^-31.
template <class A>
inline TwoFloats<xsimd::batch<float, A>> log2_in_two(const xsimd::batch<float, A>& x) {
  using B = xsimd::batch<float, A>;
  using I = xsimd::batch<uint32_t, A>;
  // (-log(1-q) - q - q^2/2) / q^3, |q| <= 0.0624
  static constexpr float poly[] = {0x1.555556p-2f, 0x1.ffffbp-3f, 0x1.9993dp-3f, 0x1.56954ep-3f,
                                   0x1.2a1b74p-3f};
  constexpr float log2e_rest = 0x1.4ae0cp-26f;
  constexpr uint32_t root = std::bit_cast<uint32_t>(Format<float>::sqrt_half);
  // x = 2^e (1 - q) / c
  const I moved = bits_as<uint32_t>(x) + I(std::bit_cast<uint32_t>(1.0f) - root), eighth = moved >> 20;
  const B e = bits_as<float>(I((moved >> 23) | I(std::bit_cast<uint32_t>(0x1p23f)))) - B(0x1p23f + 127);
  const B m = bits_as<float>(I((moved & I(0x7fffff)) + I(root)));
  const B q = fused_rest(m, look_up<8>(eighths_of_log.reciprocal, eighth), B(1.0f));
  // -log(1-q) = v + v_rest; q^2/2 = square - above
  const B half = B(0.5f) * q, square = rounded(B(half * q)), above = fused_rest(half, q, square), qq = q * q;
  const B v = q + square;
  const B v_rest = mul_add(qq * q, polynomial(q, qq, poly), (q - v) + square) - above;
  const B log2e(Format<float>::log2e), p = rounded(B(v * log2e));
  const B p_rest = mul_add(v, B(log2e_rest), mul_add(v_rest, log2e, -fused_rest(v, log2e, p)));
  const B whole = e + look_up<8>(eighths_of_log.high, eighth), sum = whole - p;
  return {sum, (whole - sum) - p + (look_up<8>(eighths_of_log.low, eighth) - p_rest)};
}

/// x times y, the first part rounded.
template <class B>
inline TwoFloats<B> times(const TwoFloats<B>& x, const B& y) {
  const B high = rounded(B(x.high * y));
  return {high, x.low * y - fused_rest(x.high, y, high)};
}

/// 2^z where that is a normal number if `plain`, else for |z| <= 160.
template <bool plain, class A>
inline xsimd::batch<float, A> exp2_of_two(const TwoFloats<xsimd::batch<float, A>>& z) {
  using B = xsimd::batch<float, A>;
  constexpr float magic = Format<float>::magic / 8;
  // (2^f - 1) / f, |f| <= 1/16
  static constexpr float poly[] = {0x1.62e43p-1f, 0x1.ebfbep-3f, 0x1.c6bb8cp-5f, 0x1.3b2fccp-7f};
  const B shifted = z.high + z.low + B(magic), f = (z.high - (shifted - B(magic))) + z.low;
  const B rest =
      mul_add(f, polynomial(f, f * f, poly), look_up<8>(exp_table_rest.share, bits_as<uint32_t>(shifted)));
  const B scale = plain ? power_of_two<true>(shifted) : root_of_two(shifted), y = mul_add(scale, rest, scale);
  return plain ? y : times_power_of_two<true>(y, shifted);
}

/// pow(x, y), given |x|^y for numbers other than 1, 0 and NaN.
template <class A>
inline xsimd::batch<float, A> with_special_powers(const xsimd::batch<float, A>& x,
                                                  const xsimd::batch<float, A>& y,
                                                  xsimd::batch<float, A> power) {
  using B = xsimd::batch<float, A>;
  const B one(1.0f), zero(0.0f);
  power = xsimd::select((xsimd::abs(x) == one) | (y == zero), one, power);
  const auto whole = simd::floor(y) == y;
  const B half = B(0.5f) * y;
  const auto odd = whole & simd::not_equal(simd::floor(half), half);
  power = xsimd::select(odd, power | (x & B(-0.0f)), power);
  const B nan(std::numeric_limits<float>::quiet_NaN());
  power = xsimd::select((x < zero) & (x >= B(std::numeric_limits<float>::lowest())) & !whole, nan, power);
  return xsimd::select(xsimd::isnan(y) & !(x == one), y, power);
}

/// pow of any floats using two floats.
template <class A>
TENON_NOINLINE xsimd::batch<float, A> power_of_any(const xsimd::batch<float, A>& x,
                                                   const xsimd::batch<float, A>& y) {
  using B = xsimd::batch<float, A>;
  const B a = xsimd::abs(x), zero(0.0f), infinity(Format<float>::infinity);
  const auto denormal = a < B(Format<float>::least_normal);
  auto log = log2_in_two(B(xsimd::select(denormal, a * B(0x1p24f), a)));
  log.high = xsimd::select(denormal, log.high - B(24.0f), log.high);
  log.high = xsimd::select(a == zero, -infinity, xsimd::select(a < infinity, log.high, a));
  auto z = times(log, y);
  // Beyond 160 floats are 0 and infinity.
  const auto far = xsimd::abs(z.high) > B(160.0f);
  z.high = xsimd::select(far, copy_sign(B(160.0f), z.high), z.high);
  z.low = xsimd::select(far, zero, z.low);
  return with_special_powers(x, y, exp2_of_two<false>(z));
}

}  // namespace detail

/// x to the power y, with all of pow's special cases: floats to 0.9 of a spacing, doubles by the C library,
/// lane by lane.
template <class T, class A>
TENON_ALWAYS_INLINE inline xsimd::batch<T, A> pow(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  using B = xsimd::batch<T, A>;
  if constexpr (std::is_same_v<T, double>) {
    return each_lane(x, y, [](double a, double b) { return std::pow(a, b); });
  } else if constexpr (detail::exp_by_table<float, A>) {
    const auto z = detail::times(detail::log2_in_two(x), y);
    const auto plain = (x >= B(detail::Format<float>::least_normal)) &
                       (x < B(detail::Format<float>::infinity)) & (xsimd::abs(z.high) <= B(125.0f));
    return xsimd::all(plain) ? detail::exp2_of_two<true>(z) : detail::power_of_any(x, y);
  } else {
    using D = xsimd::batch<double, A>;
    const auto power = [](const D& a, const D& b) { return detail::power_of_float(a, b); };
    return detail::with_special_powers(x, y, detail::through_double(B(xsimd::abs(x)), y, power));
  }
}

/// The remainder of x / y with the sign of x, exact, like C's fmod.
template <class T, class A>
inline xsimd::batch<T, A> fmod(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  using B = xsimd::batch<T, A>;
  constexpr bool fused = !std::is_same_v<B, batch<T, Baseline>>;
  if constexpr (fused) {
    // While the quotient is a whole number that T holds, it is q or q - 1, and x - q y is exact in one
    // rounding.
    const B a = xsimd::abs(x), b = xsimd::abs(y), q = simd::floor(simd::div(a, b));
    const auto direct = (q < B(T(uint64_t{1} << detail::Format<T>::mantissa))) &
                        (b >= B(detail::Format<T>::least_normal)) & (b < B(detail::Format<T>::infinity));
    if (xsimd::all(direct)) {
      const B rest = detail::fused_rest(q, b, a);
      return detail::copy_sign(xsimd::select(rest < B(T(0)), rest + b, rest), x);
    }
  }
  return each_lane(x, y, [](T a, T b) { return std::fmod(a, b); });
}

/// The remainder of x / y with the sign of y, like Python's %.
template <class T, class A>
inline xsimd::batch<T, A> mod(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y) {
  using B = xsimd::batch<T, A>;
  const B zero(T(0)), rest = simd::fmod(x, y);
  const B wrapped = xsimd::select((rest < zero) & (y > zero), rest + y, rest);
  const B other = xsimd::select((rest > zero) & (y < zero), rest + y, wrapped);
  return xsimd::select(rest == zero, detail::copy_sign(zero, y), other);
}

}  // namespace tenon::TENON_ABI::simd
