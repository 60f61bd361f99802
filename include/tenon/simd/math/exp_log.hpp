// Elementary functions: exponentials and logarithms.
#pragma once

#include <bit>
#include <limits>

#include "tenon/simd/math/common.hpp"

namespace tenon::TENON_ABI::simd {

namespace detail {

/// Whether e^x uses a table of 2^(k/8): for floats, if a register of eight supports lookups.
template <class T, class A>
inline constexpr bool exp_by_table = std::is_same_v<T, float> && bytes<A> >= 32;

/// The powers 2^(k/8), k < 8, twice, minus k in the bits to which a shifted n + k/8 adds it again.
struct ExpTable {
  alignas(64) uint32_t bits[16];
  constexpr ExpTable() : bits{} {
    constexpr float root[] = {0x1p+0f,        0x1.172b84p+0f, 0x1.306fep+0f,  0x1.4bfdaep+0f,
                              0x1.6a09e6p+0f, 0x1.8ace54p+0f, 0x1.ae89fap+0f, 0x1.d5818ep+0f};
    for (uint32_t k = 0; k < 16; ++k) bits[k] = std::bit_cast<uint32_t>(root[k % 8]) - (k % 8 << 20);
  }
};
inline constexpr ExpTable exp_table;

/// x = n ln(2) + r with n a whole number or, with the table, a multiple of 1/8: r, and n + add in the low
/// bits of `shifted`. The last digits of r are in `sum` only.
template <class B>
struct ExpParts {
  B shifted, r, sum;
};
template <bool table, int add, class T, class A>
inline ExpParts<xsimd::batch<T, A>> exp_parts(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  using N = Format<T>;
  constexpr T magic = (table ? N::magic / 8 : N::magic + T(N::bias)) + T(add);
  const B shifted = mul_add(x, B(N::log2e), B(magic)), n = shifted - B(magic);
  if constexpr (table) {
    // The low part of n ln(2) is too small for its square to matter.
    const B r = mul_add(n, B(T(-0x1.62e430p-1)), x);
    return {shifted, r, mul_add(n, B(T(0x1.05c610p-29)), r)};
  } else {
    const B r = mul_add(n, B(-N::ln2_low), mul_add(n, B(-N::ln2_high), x));
    return {shifted, r, r};
  }
}
/// exp(r) - 1
template <bool table, class B>
inline B expm1_of_rest(const ExpParts<B>& e) {
  using T = typename B::value_type;
  const B rr = e.r * e.r;
  if constexpr (table) return mul_add(rr, mul_add(e.r, B(T(0x1.555b40p-3)), B(T(0x1.00087cp-1))), e.sum);
  else return mul_add(rr, polynomial(e.r, rr, Format<T>::exp_poly), e.sum);
}
/// 2^(n + add) where that is a normal number.
template <bool table, class T, class A>
inline xsimd::batch<T, A> power_of_two(const xsimd::batch<T, A>& shifted) {
  using N = Format<T>;
  const auto bits = bits_as<typename N::Bits>(shifted);
  if constexpr (table) return bits_as<T>(look_up<8>(exp_table.bits, bits) + (bits << (N::mantissa - 3)));
  else return bits_as<T>(bits << N::mantissa);
}

/// exp(x) 2^add where 2^(x / ln(2) + add) is a normal number.
template <int add, class T, class A>
inline xsimd::batch<T, A> exp_plain(const xsimd::batch<T, A>& x) {
  constexpr bool table = exp_by_table<T, A>;
  const auto e = exp_parts<table, add>(x);
  const auto scale = power_of_two<table>(e.shifted);
  return mul_add(scale, expm1_of_rest<table>(e), scale);
}

/// 2^(k/8) for the lowest bits k of `shifted`.
template <class A>
inline xsimd::batch<float, A> root_of_two(const xsimd::batch<float, A>& shifted) {
  const auto bits = bits_as<uint32_t>(shifted);
  return bits_as<float>(look_up<8>(exp_table.bits, bits) + ((bits & xsimd::batch<uint32_t, A>(7)) << 20));
}

/// exp(x) 2^add for any x: results may be denormals or overflow. Bit for bit as exp_plain where that applies.
template <int add, class T, class A>
inline xsimd::batch<T, A> exp_times(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  using N = Format<T>;
  constexpr bool table = exp_by_table<T, A>;
  const auto e = exp_parts<table, add>(at_most(at_least(x, B(N::exp_low)), B(N::exp_high + T(1))));
  // 2^(k/8) (1 + rest), then times 2^n.
  B y;
  if constexpr (table) {
    const B root = root_of_two(e.shifted);
    y = mul_add(root, expm1_of_rest<table>(e), root);
  } else {
    y = B(T(1)) + expm1_of_rest<table>(e);
  }
  return times_power_of_two<table>(y, e.shifted);
}

/// exp(x) - 1 for 0 <= x <= 80.
template <class T, class A>
inline xsimd::batch<T, A> expm1_positive(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  const auto e = exp_parts<false, 0>(x);
  const B scale = power_of_two<false>(e.shifted);
  return mul_add(scale, expm1_of_rest<false>(e), scale - B(T(1)));
}

/// Powers of non-positive exponents are scaled by 2^lift and divided by it at the end, so that their products
/// and quotients are denormals where required.
template <class T>
inline constexpr int lift = Format<T>::bias / 2 + 1;
template <class T>
inline constexpr T lifted_one = T(std::is_same_v<T, float> ? 0x1p64 : 0x1p512);

}  // namespace detail

/// e^x
template <class T, class A>
inline xsimd::batch<T, A> exp(const xsimd::batch<T, A>& x) {
  if (xsimd::any(xsimd::abs(x) > xsimd::batch<T, A>(detail::Format<T>::exp_plain)))
    return detail::exp_times<0>(x);
  return detail::exp_plain<0>(x);
}

/// e^x where that is a normal number, else 0, for softmax: floats have |x| / 20 units of error more than exp.
/// x must not exceed 88 (float) or 709 (double); NaN gives NaN.
template <class T, class A>
inline xsimd::batch<T, A> exp_flushed(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  constexpr bool table = detail::exp_by_table<T, A>;
  auto e = detail::exp_parts<table, 0>(x);
  if constexpr (table) e.sum = e.r;
  const B scale = detail::power_of_two<table>(e.shifted);
  const B y = mul_add(scale, detail::expm1_of_rest<table>(e), scale);
  return detail::zero_below(x, B(detail::Format<T>::exp_normal), y);
}

/// e^x - 1 for x <= 0, and 0 for greater x.
template <class T, class A>
inline xsimd::batch<T, A> expm1_negative(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  // Without the table, whose powers are too far from their rounded values when 1 is subtracted from them.
  const auto e = detail::exp_parts<false, 0>(at_most(at_least(x, B(T(-40))), B(T(0))));
  const B scale = detail::power_of_two<false>(e.shifted);
  return mul_add(scale, detail::expm1_of_rest<false>(e), scale - B(T(1)));
}

/// e^x - 1
template <class T, class A>
inline xsimd::batch<T, A> expm1(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  const B e = simd::expm1_negative(-xsimd::abs(x)) | (x & B(detail::Format<T>::sign));
  const auto positive = x > B(T(0));
  return xsimd::any(positive) ? xsimd::select(positive, -e * simd::exp(x), e) : e;
}

namespace detail {

/// log(x) by Format's polynomial log_poly; `denormals` says whether x may be a denormal.
template <bool denormals, class T, class A, std::size_t n>
inline xsimd::batch<T, A> log_by(const T (&poly)[n], const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  using N = Format<T>;
  using U = typename N::Bits;
  using I = xsimd::batch<U, A>;
  constexpr T up = T(U{1} << (N::mantissa + 1));
  const auto denormal = x < B(N::least_normal);
  const B scaled = denormals ? xsimd::select(denormal, x * B(up), x) : x;
  // 2^e (1 + f), with 1 + f from sqrt(1/2) to sqrt(2)
  constexpr U root = std::bit_cast<U>(N::sqrt_half), one = std::bit_cast<U>(T(1));
  const I moved = bits_as<U>(scaled) + I(one - root);
  const B biased = bits_as<T>((moved >> N::mantissa) | I(std::bit_cast<U>(up / 2))) - B(up / 2);
  const B bias =
      denormals ? xsimd::select(denormal, B(T(N::bias + N::mantissa + 1)), B(T(N::bias))) : B(T(N::bias));
  const B e = biased - bias;
  const B f = bits_as<T>((moved & I((U{1} << N::mantissa) - 1)) + I(root)) - B(T(1));
  // log(1+f) = f - f^2/2 + s (f^2/2 + s^2 R(s^2)), s = f / (2 + f)
  const B s = simd::div(f, f + B(T(2))), z = s * s, half = B(T(0.5)) * f * f;
  const B rest = mul_add(s, mul_add(z, polynomial(z, poly), half), e * B(N::ln2_low));
  B y = mul_add(e, B(N::ln2_high), f - (half - rest));
  y = xsimd::select(x == B(T(0)), B(-N::infinity), y);
  y = xsimd::select(x == B(N::infinity), x, y);
  return xsimd::select(x >= B(T(0)), y, B(std::numeric_limits<T>::quiet_NaN()));
}

}  // namespace detail

/// Natural logarithm.
template <class T, class A>
inline xsimd::batch<T, A> log(const xsimd::batch<T, A>& x) {
  return detail::log_by<true>(detail::Format<T>::log_poly, x);
}

/// log(1 + x) for 0 <= x <= 1.
template <class T, class A>
inline xsimd::batch<T, A> log1p_unit(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  const B s = simd::div(x, x + B(T(2))), z = s * s;
  return mul_add(s * z, detail::polynomial(z, detail::Format<T>::log1p_poly), s + s);
}

}  // namespace tenon::TENON_ABI::simd
