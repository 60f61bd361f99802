// Elementary functions: the error function, and activations of neural networks.
#pragma once

#include <bit>

#include "tenon/simd/math/exp_log.hpp"

namespace tenon::TENON_ABI::simd {

namespace detail {

/// factor Phi(-t), Phi the normal distribution, for 0 <= t <= tail_end.
template <class T, class A>
inline xsimd::batch<T, A> normal_tail(const xsimd::batch<T, A>& factor, const xsimd::batch<T, A>& t) {
  using B = xsimd::batch<T, A>;
  using N = Format<T>;
  // The square is split in two parts, because exp turns absolute errors into relative ones.
  if constexpr (exp_by_table<T, A>) {
    // exp(-(square - rest) / 2) = 2^n exp(-(r - rest) / 2), with `tail` = 2 - 2 exp(-(r - rest) / 2). The low
    // part of n ln(2) is included in the quotient below.
    using I = xsimd::batch<uint32_t, A>;
    const B square = t * t, rest = fused_rest(t, t, square), magic(N::magic / 8 + lift<T>);
    const B shifted = mul_add(square, B(-0.5f * N::log2e), magic);
    const B r = mul_add(shifted - magic, B(0x1.62e430p0f), square);
    const B tail = mul_add(r * r, mul_add(r, B(0x1.555b40p-5f), B(-0x1.00087cp-2f)), r - rest);
    const B scale = power_of_two<true>(shifted),
            half = bits_as<T>(bits_as<uint32_t>(scale) - I(1u << N::mantissa));
    const B e = fused_rest(half, tail, scale);
    // exp(t^2/2) Phi(-t), its denominator times 2^lift
    static constexpr float above[] = {0x1.fffffcp-2f, 0x1.5e678ap-2f, 0x1.bdc952p-4f, 0x1.df85fcp-7f,
                                      0x1.b616ap-23f};
    static constexpr float below[] = {0x1p+64f, 0x1.7b756ap+64f, 0x1.cd0276p+63f, 0x1.16d3acp+62f,
                                      0x1.2cb3bap+59f};
    return factor * (e * simd::div(polynomial(t, square, above), polynomial(t, square, below)));
  } else {
    // Half of the digits have an exact square.
    const B high = t & B(std::bit_cast<T>(N::tail_split));
    auto parts = exp_parts<false, lift<T>>(B(T(-0.5)) * high * high);
    parts.r = parts.sum = mul_add(B(T(-0.5)) * (t - high), t + high, parts.r);
    const B scale = power_of_two<false>(parts.shifted),
            e = mul_add(scale, expm1_of_rest<false>(parts), scale);
    const B k = simd::div(B(T(1)), mul_add(t, B(N::tail_scale), B(T(1))));
    return factor * (e * (B(T(1) / lifted_one<T>) * k * polynomial(k, N::tail_poly)));
  }
}

}  // namespace detail

/// log(1 + e^x)
template <class T, class A>
inline xsimd::batch<T, A> softplus(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  return at_least(x, B(T(0))) + simd::log1p_unit(simd::exp(x | B(detail::Format<T>::sign)));
}

/// 1 / (1 + e^-x)
template <class T, class A>
inline xsimd::batch<T, A> sigmoid(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  using N = detail::Format<T>;
  const B one(detail::lifted_one<T>);
  const B e = detail::exp_plain<detail::lift<T>>(at_least(x | B(N::sign), B(N::exp_low)));
  return simd::div(detail::choose_negative(x, e, one), one + e);
}

/// The error function.
template <class T, class A>
inline xsimd::batch<T, A> erf(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  using N = detail::Format<T>;
  if constexpr (std::is_same_v<T, float>) {
    static constexpr float above[] = {0x1.06eba0p-3f, 0x1.7ae992p-3f,  0x1.ab8808p-5f,
                                      0x1.d42a66p-9f, 0x1.2d4712p-12f, 0x1.255f58p-19f};
    static constexpr float below[] = {
        1, 0x1.fd3bf4p-2f, 0x1.cad4b0p-4f, 0x1.ddcca6p-7f, 0x1.27a40ep-10f, 0x1.4c478cp-15f};
    return detail::odd_quotient(x, 3.76f, above, below);
  } else {
    const B a = xsimd::abs(x);
    const B small = mul_add(a, detail::polynomial(x * x, N::erf_poly), a);
    const B large = B(1.0) - detail::normal_tail(B(2.0), at_most(B(1.41421356237309504880) * a, B(10.0)));
    return detail::copy_sign(xsimd::select(a < B(N::erf_small), small, large), x);
  }
}

/// x Phi(x) = x (1 + erf(x / sqrt(2))) / 2, without cancellation in its negative tail.
template <class T, class A>
inline xsimd::batch<T, A> gelu(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  using U = typename detail::Format<T>::Bits;
  // Magnitudes are ordered like their bits. NaN passes through the first term.
  const auto end = xsimd::batch<U, A>(std::bit_cast<U>(detail::Format<T>::tail_end));
  const B a = bits_as<T>(xsimd::min(bits_as<U>(xsimd::abs(x)), end));
  return at_least(x, B(T(0))) - detail::normal_tail(a, a);
}

/// x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2
template <class T, class A>
inline xsimd::batch<T, A> gelu_tanh(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  const B twice = B(T(1.5957691216057307118)) * mul_add(B(T(0.044715)) * x * x, x, x);
  return x * simd::sigmoid(twice);
}

/// x tanh(softplus(x))
template <class T, class A>
inline xsimd::batch<T, A> mish(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  // tanh(log(1+e)) = n / (n + 2) with n = e^2 + 2e; from 40 on that is 1 in either type.
  const B e = simd::exp(at_most(x, B(T(40)))), n = e * (e + B(T(2)));
  return x * simd::div(n, n + B(T(2)));
}

}  // namespace tenon::TENON_ABI::simd
