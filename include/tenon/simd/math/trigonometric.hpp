// Elementary functions: trigonometric functions and their inverses.
#pragma once

#include <cmath>

#include "tenon/simd/math/common.hpp"

namespace tenon::TENON_ABI::simd {

namespace detail {

/// For x = n pi/2 + r, |x| <= 8192: the bits of n, sin(r) and cos(r).
template <class A>
struct Quarters {
  xsimd::batch<uint32_t, A> n;
  xsimd::batch<float, A> sine, cosine;
};
template <class A>
inline Quarters<A> quarters_of(const xsimd::batch<float, A>& x) {
  using B = xsimd::batch<float, A>;
  constexpr float magic = Format<float>::magic;
  // Rounded down, the parts of pi/2 preserve the sign of -0.
  const B shifted = mul_add(x, B(0x1.45f306p-1f), B(magic)), n = shifted - B(magic);
  const B r =
      mul_add(n, B(-0x1.846988p-48f), mul_add(n, B(-0x1.4442dp-24f), mul_add(n, B(-0x1.921fb4p+0f), x)));
  const B z = r * r;
  static constexpr float sine_poly[] = {-0x1.555546p-3f, 0x1.11073ep-7f, -0x1.9943f2p-13f};
  static constexpr float cosine_poly[] = {0x1.555548p-5f, -0x1.6c0c34p-10f, 0x1.99eb9cp-16f};
  return {bits_as<uint32_t>(shifted), mul_add(r * z, polynomial(z, sine_poly), r) | (r & B(-0.0f)),
          mul_add(z * z, polynomial(z, cosine_poly), mul_add(z, B(-0.5f), B(1.0f)))};
}

/// sin(x + quarters pi/2), |x| <= 8192.
template <int quarters, class A>
inline xsimd::batch<float, A> sine(const xsimd::batch<float, A>& x) {
  using I = xsimd::batch<uint32_t, A>;
  const auto parts = quarters_of(x);
  const I q = parts.n + I(static_cast<uint32_t>(quarters));
  return choose_negative(bits_as<float>(q << 31), parts.cosine, parts.sine) ^
         bits_as<float>((q & I(2)) << 30);
}

/// tan(x), |x| <= 8192.
template <class A>
inline xsimd::batch<float, A> tangent(const xsimd::batch<float, A>& x) {
  const auto [n, s, c] = quarters_of(x);
  const auto odd = bits_as<float>(n << 31);
  return simd::div(choose_negative(odd, c, s), choose_negative(odd, s, c) ^ odd);
}

/// near(x), but far(v) for lanes beyond 8192, and for all lanes if the type is double or the level has no
/// FMA.
template <class T, class A, class Near, class Far>
inline xsimd::batch<T, A> periodic(const xsimd::batch<T, A>& x, Near near, Far far) {
  if constexpr (std::is_same_v<T, float> && bytes<A> >= 32) {
    const auto beyond = xsimd::abs(x) > xsimd::batch<T, A>(8192.0f);
    const auto y = near(x);
    return xsimd::any(beyond) ? xsimd::select(beyond, each_lane(x, far), y) : y;
  } else {
    return each_lane(x, far);
  }
}

}  // namespace detail

template <class T, class A>
inline xsimd::batch<T, A> sin(const xsimd::batch<T, A>& x) {
  return detail::periodic(
      x, [](const auto& v) { return detail::sine<0>(v); }, [](T v) { return std::sin(v); });
}
template <class T, class A>
inline xsimd::batch<T, A> cos(const xsimd::batch<T, A>& x) {
  return detail::periodic(
      x, [](const auto& v) { return detail::sine<1>(v); }, [](T v) { return std::cos(v); });
}
template <class T, class A>
inline xsimd::batch<T, A> tan(const xsimd::batch<T, A>& x) {
  return detail::periodic(
      x, [](const auto& v) { return detail::tangent(v); }, [](T v) { return std::tan(v); });
}

template <class T, class A>
inline xsimd::batch<T, A> atan(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  using N = detail::Format<T>;
  // atan(a) = atan((a - 1) / (a + 1)) + pi/4 = atan(-1 / a) + pi/2
  const B a = xsimd::abs(x), one(T(1)), zero(T(0)), half(N::half_pi), low(N::half_pi_low);
  const auto middle = a > B(T(0.41421356237309504880)), high = a > B(T(2.41421356237309504880));
  const B above = xsimd::select(high, -one, xsimd::select(middle, a - one, a));
  const B below = xsimd::select(high, a, xsimd::select(middle, a + one, one));
  const B share = xsimd::select(high, one, xsimd::select(middle, B(T(0.5)), zero));
  const B r = simd::div(above, below), z = r * r;
  const B rest = mul_add(r * z, detail::polynomial(z, z * z, N::atan_poly), share * low);
  return detail::copy_sign(mul_add(share, half, r + rest), x);
}

namespace detail {

/// The part of asin(a), |a| <= 1, that the polynomial gives: asin(a) for a small a, else (pi/2 - asin(|a|)) /
/// 2.
template <class T, class A>
inline xsimd::batch<T, A> arc(const xsimd::batch<T, A>& a, const xsimd::batch_bool<T, A>& small) {
  using B = xsimd::batch<T, A>;
  const B z = xsimd::select(small, a * a, mul_add(a, B(T(-0.5)), B(T(0.5))));
  const B r = xsimd::select(small, a, simd::sqrt(z));
  return mul_add(r * z, polynomial(z, z * z, Format<T>::asin_poly), r);
}

}  // namespace detail

/// The inverse sine; NaN beyond 1.
template <class T, class A>
inline xsimd::batch<T, A> asin(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  using N = detail::Format<T>;
  const B a = xsimd::abs(x);
  const auto small = a < B(T(0.5));
  const B y = detail::arc(a, small);
  const B large = B(N::half_pi) - (mul_add(y, B(T(2)), B(-N::half_pi_low)));
  return detail::copy_sign(xsimd::select(small, y, large), x);
}

/// The inverse cosine; NaN beyond 1.
template <class T, class A>
inline xsimd::batch<T, A> acos(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  using N = detail::Format<T>;
  const B a = xsimd::abs(x);
  const auto small = a < B(T(0.5));
  // pi/2 - y, 2 y, pi - 2 y
  const B y = detail::arc(a, small);
  const B signed_y = y ^ (x & B(N::sign));
  const B share = xsimd::select(small, B(T(-1)), B(T(2)));
  const B whole = xsimd::select(small, B(T(1)), xsimd::select(x < B(T(0)), B(T(2)), B(T(0))));
  return mul_add(whole, B(N::half_pi), mul_add(signed_y, share, whole * B(N::half_pi_low)));
}

}  // namespace tenon::TENON_ABI::simd
