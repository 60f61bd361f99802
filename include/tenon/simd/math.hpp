// Elementary functions of batch<float> and batch<double>. Call them qualified (simd::exp): xsimd has the same
// names.
//
// Greatest errors in units in the last place that tests/simd/math_test.cc allows over sweeps of the whole
// range, with or without FMA; the errors that it measured lie just below:
//
//                       float  double                           float  double
//   exp                  1.3    1.2      sinh                    2.2    1.8
//   log                  0.9    0.9      cosh                    1.7    1.7
//   tanh                 5.5    3.0      softplus                2.9    2.7
//   erf                  6.2    3.1      gelu (of the tail too)  8.0    9.5
//   sigmoid              2.7    2.4      mish                    4.7    4.3
//   expm1_negative       1.0    1.6      pow                     0.51   0.6
//   sin, cos             1.7    0.6      fmod, mod               exact
//   expm1                2.8    3.0      asin                    2.5    2.5
//   tan                  3.5    0.6      acos                    1.3    1.3
//   asinh, acosh, atanh  0.51   2.5      atan                    1.9    1.9
//
// Where mish or gelu is near the least normal number its error is counted in spacings of somewhat larger
// numbers. NaN gives NaN, and infinities, -0, denormals and overflow what C's functions give; gelu(-infinity)
// is 0, its limit.
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

/// The square root, rounded correctly.
template <class T, class A>
inline xsimd::batch<T, A> sqrt(const xsimd::batch<T, A>& x) {
#if defined(__AVX512F__)
  // Newton's steps from an estimate of 1 / sqrt(x) take half as long as the instruction. They keep the root
  // and half its reciprocal; the last one adds the remainder, which is exact from 2^-100 on.
  if constexpr (detail::bytes<A> == 64 && std::is_same_v<T, float>) {
    constexpr int least = (127 - 100) << 23, infinity = 255 << 23;
    const __m512i above = _mm512_sub_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(least));
    const __mmask16 plain = _mm512_cmplt_epu32_mask(above, _mm512_set1_epi32(infinity - least));
    if (_mm512_mask_cmp_ps_mask(static_cast<__mmask16>(~plain), x, _mm512_setzero_ps(), _CMP_NEQ_UQ) != 0)
      return _mm512_sqrt_ps(x);
    const __m512 half = _mm512_set1_ps(0.5f), estimate = _mm512_maskz_rsqrt14_ps(plain, x);
    __m512 root = _mm512_mul_ps(x, estimate), slope = _mm512_mul_ps(estimate, half);
    const __m512 rest = _mm512_fnmadd_ps(root, slope, half);
    root = _mm512_fmadd_ps(root, rest, root);
    slope = _mm512_fmadd_ps(slope, rest, slope);
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(root, root, x), slope, root);
  } else
#endif
    return xsimd::sqrt(x);
}

/// x, or `low` where x is less. NaN stays.
template <class T, class A>
inline xsimd::batch<T, A> at_least(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& low) {
  // The processor's maximum is its second operand when either is NaN, and when both are zeros.
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64 && std::is_same_v<T, float>) return _mm512_max_ps(low, x);
  else if constexpr (detail::bytes<A> == 64 && std::is_same_v<T, double>) return _mm512_max_pd(low, x);
  else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32 && std::is_same_v<T, float>)
    return _mm256_max_ps(low, x);
  else if constexpr (detail::bytes<A> == 32 && std::is_same_v<T, double>) return _mm256_max_pd(low, x);
  else
#endif
#if defined(__x86_64__)
      if constexpr (detail::bytes<A> == 16 && std::is_same_v<T, float>)
    return _mm_max_ps(low, x);
  else if constexpr (detail::bytes<A> == 16 && std::is_same_v<T, double>) return _mm_max_pd(low, x);
  else
#endif
    return xsimd::select(x < low, low, x);
}

/// x, or `high` where x is greater. NaN stays.
template <class T, class A>
inline xsimd::batch<T, A> at_most(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& high) {
#if defined(__AVX512F__)
  if constexpr (detail::bytes<A> == 64 && std::is_same_v<T, float>) return _mm512_min_ps(high, x);
  else if constexpr (detail::bytes<A> == 64 && std::is_same_v<T, double>) return _mm512_min_pd(high, x);
  else
#endif
#if defined(__AVX2__)
      if constexpr (detail::bytes<A> == 32 && std::is_same_v<T, float>)
    return _mm256_min_ps(high, x);
  else if constexpr (detail::bytes<A> == 32 && std::is_same_v<T, double>) return _mm256_min_pd(high, x);
  else
#endif
#if defined(__x86_64__)
      if constexpr (detail::bytes<A> == 16 && std::is_same_v<T, float>)
    return _mm_min_ps(high, x);
  else if constexpr (detail::bytes<A> == 16 && std::is_same_v<T, double>) return _mm_min_pd(high, x);
  else
#endif
    return xsimd::select(x > high, high, x);
}

namespace detail {

template <class T>
struct Format;
template <>
struct Format<float> {
  using bits = uint32_t;
  static constexpr int mantissa = 23, bias = 127;
  static constexpr float magic = 0x1.8p23f;  // a sum with it has the rounded addend in its low bits
  static constexpr float sign = -0.0f, least_normal = 0x1p-126f,
                         infinity = std::numeric_limits<float>::infinity();
  // Below and above these exp is 0 and infinity; from exp_normal on it is no denormal.
  static constexpr float exp_low = -104, exp_high = 89, exp_normal = -0x1.5d589ep6f, exp_plain = 87;
  static constexpr float log2e = 0x1.715476p0f, ln2_high = 0x1.63p-1f, ln2_low = -0x1.bd0106p-13f;
  // (exp(r) - 1 - r) / r^2, |r| <= ln(2)/2
  static constexpr float exp_poly[] = {0x1.fffffcp-2f, 0x1.555494p-3f, 0x1.555888p-5f, 0x1.123846p-7f,
                                       0x1.6a7822p-10f};
  // (2 atanh(s) - 2s) / s^3 in s^2, for 1+f within sqrt(2) of 1, s = f/(2+f); and for f in [0,1]
  static constexpr float log_poly[] = {0x1.555556p-1f, 0x1.9998b8p-2f, 0x1.24a34ap-2f, 0x1.d4080ep-3f};
  static constexpr float log1p_poly[] = {0x1.55550cp-1f, 0x1.99ce48p-2f, 0x1.1ef094p-2f, 0x1.1df9e8p-2f};
  // exp(t^2/2) Phi(-t) / k in k = 1 / (1 + tail_scale t); Phi(-t) is 0 from tail_end on
  static constexpr float tail_scale = 0.35f, tail_end = 14.5f;
  static constexpr bits tail_split = 0xfffff000;  // t with half its digits
  static constexpr float tail_poly[] = {0x1.1df1c6p-3f,  0x1.1e70ccp-3f,  0x1.eac952p-4f,
                                        0x1.b05910p-4f,  -0x1.7c57e2p-6f, 0x1.464a40p-3f,
                                        -0x1.05fac0p-2f, 0x1.26f982p-3f,  -0x1.ddb858p-6f};
  static constexpr float sqrt_half = 0x1.6a09e6p-1f;
  // (sinh(x) - x) / x^3 in x^2, |x| <= 1
  static constexpr float sinh_poly[] = {0x1.555556p-3f, 0x1.111112p-7f, 0x1.a01a02p-13f, 0x1.71de3ap-19f};
  // (atan(x) - x) / x^3 in x^2, |x| <= tan(pi/8); (asin(x) - x) / x^3 in x^2, |x| <= 1/2
  static constexpr float atan_poly[] = {-0x1.55554ap-2f, 0x1.9991aep-3f, -0x1.23b6bcp-3f, 0x1.b20234p-4f,
                                        -0x1.f25656p-5f};
  static constexpr float asin_poly[] = {0x1.5555cap-3f, 0x1.33014ep-4f, 0x1.748c64p-5f, 0x1.8ba25p-6f,
                                        0x1.59dadap-5f};
  static constexpr float half_pi = 0x1.921fb6p0f, half_pi_low = -0x1.777a5cp-25f;
};
template <>
struct Format<double> {
  using bits = uint64_t;
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr double magic = 0x1.8p52;
  static constexpr double sign = -0.0, least_normal = 0x1p-1022,
                          infinity = std::numeric_limits<double>::infinity();
  static constexpr double exp_low = -746, exp_high = 710, exp_normal = -0x1.6232bdd7abcd2p9, exp_plain = 708;
  static constexpr double log2e = 0x1.71547652b82fep0, ln2_high = 0x1.62e42feep-1,
                          ln2_low = 0x1.a39ef35793c76p-33;
  static constexpr double exp_poly[] = {0x1.0000000000009p-1,  0x1.55555555553a9p-3,  0x1.5555555551281p-5,
                                        0x1.1111111171e23p-7,  0x1.6c16c18065243p-10, 0x1.a019ff382cf30p-13,
                                        0x1.a019a8139ecf1p-16, 0x1.71e4cd6117b46p-19, 0x1.289dc2e107a97p-22,
                                        0x1.a24c180263205p-26};
  static constexpr double log_poly[] = {0x1.555555555557cp-1, 0x1.999999998568bp-2, 0x1.2492493df15cep-2,
                                        0x1.c71c54d000f8ep-3, 0x1.7465be8e41d0ap-3, 0x1.39ad5ac5faf98p-3,
                                        0x1.2e9a8fe1fed77p-3};
  static constexpr double log1p_poly[] = {0x1.5555555555546p-1, 0x1.999999999e2acp-2, 0x1.2492492179d38p-2,
                                          0x1.c71c73b95bdddp-3, 0x1.745cc0109f460p-3, 0x1.3b1cf37fb6073p-3,
                                          0x1.1072a9befd265p-3, 0x1.ef38b5a79c1b6p-4, 0x1.583c774988a16p-4,
                                          0x1.5a40e57e20237p-3};
  static constexpr double tail_scale = 0.2, tail_end = 38.6;
  static constexpr bits tail_split = 0xfffffffff8000000;
  static constexpr double tail_poly[] = {0x1.46d04295eaa31p-4,  0x1.46d042f39d09cp-4,  0x1.39bda65b5bf94p-4,
                                         0x1.1f993d4712a93p-4,  0x1.f3d47d0dbc96ap-5,  0x1.986a09656decep-5,
                                         0x1.304d93aa88525p-5,  0x1.c7eb57fbb1c06p-6,  0x1.aa904527e50edp-8,
                                         0x1.12565eec60576p-5,  -0x1.0311b372afb6ap-4, 0x1.f3b07c4506bb2p-4,
                                         -0x1.759ce51f32f28p-3, 0x1.8d3d5a7fc52d3p-3,  -0x1.23a4272a65bb3p-3,
                                         0x1.8b56f506522f9p-5,  0x1.9c1a8a5536a1dp-6,  -0x1.46c153dcbf5eap-5,
                                         0x1.5fac97bc66682p-6,  -0x1.77c2924995facp-8, 0x1.4dd5652705512p-11};
  // erf(x) / x - 1 in x^2, |x| <= erf_small
  static constexpr double erf_small = 0.7;
  static constexpr double erf_poly[] = {
      0x1.06eba8214db69p-3,  -0x1.812746b0379e5p-2,  0x1.ce2f21a0429adp-4,  -0x1.b82ce3127742fp-6,
      0x1.565bcd09fb699p-8,  -0x1.c02db2af20b36p-11, 0x1.f9a2e868d780dp-14, -0x1.f4cae1bd3bc67p-17,
      0x1.b9531e8261a46p-20, -0x1.5852438ad9e68p-23, 0x1.970ef20be3e7cp-27};
  static constexpr double sqrt_half = 0x1.6a09e667f3bcdp-1;
  static constexpr double sinh_poly[] = {0x1.5555555555555p-3,  0x1.1111111111111p-7,  0x1.a01a01a01a01ap-13,
                                         0x1.71de3a556c734p-19, 0x1.ae64567f544e4p-26, 0x1.6124613a86d09p-33,
                                         0x1.ae7f3e733b81fp-41, 0x1.952c77030ad4ap-49, 0x1.2f49b46814157p-57};
  static constexpr double atan_poly[] = {-0x1.5555555555554p-2, 0x1.999999999965ap-3,  -0x1.2492492475d2dp-3,
                                         0x1.c71c71b7779c7p-4,  -0x1.745d14bfa767dp-4, 0x1.3b136eab8d4b4p-4,
                                         -0x1.110c79ab3802ap-4, 0x1.e1727ff061c31p-5,  -0x1.ab8093fa24b22p-5,
                                         0x1.70f94d334b684p-5,  -0x1.1252bdfe0fee8p-5, 0x1.f252e03df7864p-7};
  static constexpr double asin_poly[] = {0x1.5555555555578p-3, 0x1.333333332df83p-4, 0x1.6db6db7225d96p-5,
                                         0x1.f1c71a8dd405cp-6, 0x1.6e8bdfa4c15fcp-6, 0x1.1c49e2d74fa14p-6,
                                         0x1.ca20cb9c1967ap-7, 0x1.757b8d0bc38ap-7,  0x1.61738e0816024p-7,
                                         0x1.e2c450d339975p-9, 0x1.6490ff5089f31p-6, -0x1.59523600a6c1fp-6,
                                         0x1.0bafb1c7bd57ap-5};
  static constexpr double half_pi = 0x1.921fb54442d18p0, half_pi_low = 0x1.1a62633145c07p-54;
};

template <class B, class T, std::size_t n>
inline B polynomial(const B& x, const T (&c)[n]) {
  B y(c[n - 1]);
  for (std::size_t i = n - 1; i-- > 0;) y = mul_add(y, x, B(c[i]));
  return y;
}

/// The same as two chains, of the even and the odd powers, which the processor runs side by side. xx is x^2.
template <class B, class T, std::size_t n>
inline B polynomial(const B& x, const B& xx, const T (&c)[n]) {
  B y(c[n - 1]), z(c[n - 2]);
  for (std::size_t i = n - 2; i-- > 0;)
    (i % 2 == n % 2 ? z : y) = mul_add(i % 2 == n % 2 ? z : y, xx, B(c[i]));
  return n % 2 ? mul_add(z, x, y) : mul_add(y, x, z);
}

/// z - x * y rounded once for certain, where the level has FMA: what mul_add's compiler may make of it is not
/// enough where the result is exact.
template <class T, class A>
inline xsimd::batch<T, A> fused_rest(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                     const xsimd::batch<T, A>& z) {
#if defined(__AVX512F__)
  if constexpr (bytes<A> == 64 && std::is_same_v<T, float>) return _mm512_fnmadd_ps(x, y, z);
  else if constexpr (bytes<A> == 64 && std::is_same_v<T, double>) return _mm512_fnmadd_pd(x, y, z);
  else
#endif
#if defined(__AVX2__) && defined(__FMA__)
      if constexpr (bytes<A> == 32 && std::is_same_v<T, float>)
    return _mm256_fnmadd_ps(x, y, z);
  else if constexpr (bytes<A> == 32 && std::is_same_v<T, double>) return _mm256_fnmadd_pd(x, y, z);
  else
#endif
    return mul_add(-x, y, z);
}

template <class T, class A>
inline xsimd::batch<T, A> copy_sign(const xsimd::batch<T, A>& magnitude, const xsimd::batch<T, A>& sign) {
  return xsimd::abs(magnitude) | (sign & xsimd::batch<T, A>(Format<T>::sign));
}

/// y where x has a sign, as -0 has, else z.
template <class T, class A>
inline xsimd::batch<T, A> choose_negative(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& y,
                                          const xsimd::batch<T, A>& z) {
#if defined(__AVX512F__)
  if constexpr (bytes<A> == 64 && std::is_same_v<T, float>)
    return _mm512_mask_mov_ps(z, _mm512_movepi32_mask(_mm512_castps_si512(x)), y);
  else if constexpr (bytes<A> == 64 && std::is_same_v<T, double>)
    return _mm512_mask_mov_pd(z, _mm512_movepi64_mask(_mm512_castpd_si512(x)), y);
  else
#endif
#if defined(__AVX2__)
      if constexpr (bytes<A> == 32 && std::is_same_v<T, float>)
    return _mm256_blendv_ps(z, y, x);
  else if constexpr (bytes<A> == 32 && std::is_same_v<T, double>) return _mm256_blendv_pd(z, y, x);
  else
#endif
  {
    // -1 for -0, as for any number with a sign
    const xsimd::batch<T, A> one(T(1));
    return xsimd::select((one | (x & xsimd::batch<T, A>(Format<T>::sign))) < xsimd::batch<T, A>(T(0)), y, z);
  }
}

/// y, but 0 where x is less than `low`.
template <class T, class A>
inline xsimd::batch<T, A> zero_below(const xsimd::batch<T, A>& x, const xsimd::batch<T, A>& low,
                                     const xsimd::batch<T, A>& y) {
#if defined(__AVX2__)
  if constexpr (bytes<A> == 32 && std::is_same_v<T, float>)
    return _mm256_andnot_ps(_mm256_cmp_ps(x, low, _CMP_LT_OQ), y);
  else if constexpr (bytes<A> == 32 && std::is_same_v<T, double>)
    return _mm256_andnot_pd(_mm256_cmp_pd(x, low, _CMP_LT_OQ), y);
  else
#endif
    return xsimd::select(x < low, xsimd::batch<T, A>(T(0)), y);
}

/// Whether e^x is made of a table of 2^(k/8): floats, where a register of eight can be looked up.
template <class T, class A>
inline constexpr bool exp_by_table = std::is_same_v<T, float> && bytes<A> >= 32;

/// The powers 2^(k/8), k < 8, twice, less k in the bits in which a shifted n + k/8 adds it again.
struct ExpTable {
  alignas(64) uint32_t bits[16];
  constexpr ExpTable() : bits{} {
    constexpr float root[] = {0x1p+0f,        0x1.172b84p+0f, 0x1.306fep+0f,  0x1.4bfdaep+0f,
                              0x1.6a09e6p+0f, 0x1.8ace54p+0f, 0x1.ae89fap+0f, 0x1.d5818ep+0f};
    for (uint32_t k = 0; k < 16; ++k) bits[k] = std::bit_cast<uint32_t>(root[k % 8]) - (k % 8 << 20);
  }
};
inline constexpr ExpTable exp_table;

/// x = n ln(2) + r with n a whole number or, by table, a multiple of 1/8: r, and n + add in the low bits of
/// `shifted`. The last digits of r are in `sum` only.
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
    // What n ln(2) lacks is so small that its square does not matter.
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
  const auto bits = bits_as<typename N::bits>(shifted);
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

/// exp(x) 2^add for any x: results may be denormals or overflow. Bit for bit as exp_plain where that holds.
template <int add, class T, class A>
inline xsimd::batch<T, A> exp_times(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  using N = Format<T>;
  using U = typename N::bits;
  using I = xsimd::batch<U, A>;
  constexpr bool table = exp_by_table<T, A>;
  const auto e = exp_parts<table, add>(at_most(at_least(x, B(N::exp_low)), B(N::exp_high + T(1))));
  // 2^(k/8) (1 + rest), then times 2^n.
  const I bits = bits_as<U>(e.shifted);
  B y;
  if constexpr (table) {
    const B root = bits_as<T>(look_up<8>(exp_table.bits, bits) + ((bits & I(7)) << (N::mantissa - 3)));
    y = mul_add(root, expm1_of_rest<table>(e), root);
  } else {
    y = B(T(1)) + expm1_of_rest<table>(e);
  }
#if defined(__AVX512F__)
  const auto n = [&] { return e.shifted - B(table ? N::magic / 8 : N::magic + T(N::bias)); };
  if constexpr (bytes<A> == 64 && std::is_same_v<T, float>) return _mm512_scalef_ps(y, n());
  else if constexpr (bytes<A> == 64 && std::is_same_v<T, double>) return _mm512_scalef_pd(y, n());
  else
#endif
  {
    // Two factors, whose exponents stay positive when halved because both biases are in before.
    constexpr U both = 2 * U{N::bias};
    I biased;
    if constexpr (table) biased = (bits - I(std::bit_cast<U>(N::magic / 8) - 8 * both)) >> 3;
    else biased = bits - I(std::bit_cast<U>(N::magic) + U{N::bias} - both);
    const I half = biased >> 1;
    return y * bits_as<T>(half << N::mantissa) * bits_as<T>((biased - half) << N::mantissa);
  }
}

/// exp(x) - 1 for 0 <= x <= 80.
template <class T, class A>
inline xsimd::batch<T, A> expm1_positive(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  const auto e = exp_parts<false, 0>(x);
  const B scale = power_of_two<false>(e.shifted);
  return mul_add(scale, expm1_of_rest<false>(e), scale - B(T(1)));
}

/// Powers of exponents that are not positive are raised by 2^lift and divided by it in the end, so that
/// their products and quotients are denormals where they must be.
template <class T>
inline constexpr int lift = Format<T>::bias / 2 + 1;
template <class T>
inline constexpr T lifted_one = T(std::is_same_v<T, float> ? 0x1p64 : 0x1p512);

/// x (1 + above(z)) / below(z), z = x^2 and at most end^2; 1 where that is greater: an odd function that has
/// reached 1 at `end`.
template <class A, std::size_t n>
inline xsimd::batch<float, A> odd_quotient(const xsimd::batch<float, A>& x, float end,
                                           const float (&above)[n], const float (&below)[n]) {
  using B = xsimd::batch<float, A>;
  const B z = at_most(x * x, B(end * end));
  const B y = mul_add(x, polynomial(z, above), x) / polynomial(z, below);
  return at_most(at_least(y, B(-1.0f)), B(1.0f));
}

/// factor Phi(-t), Phi the normal distribution, for 0 <= t <= tail_end.
template <class T, class A>
inline xsimd::batch<T, A> normal_tail(const xsimd::batch<T, A>& factor, const xsimd::batch<T, A>& t) {
  using B = xsimd::batch<T, A>;
  using N = Format<T>;
  // The square is in two parts, as exp makes relative errors of absolute ones.
  if constexpr (exp_by_table<T, A>) {
    // exp(-(square - rest) / 2) = 2^n exp(-(r - rest) / 2), with `tail` = 2 - 2 exp(-(r - rest) / 2). What n
    // ln(2) lacks is in the quotient below.
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
    return factor * (e * (polynomial(t, square, above) / polynomial(t, square, below)));
  } else {
    // Half of the digits make an exact square.
    const B high = t & B(std::bit_cast<T>(N::tail_split));
    auto parts = exp_parts<false, lift<T>>(B(T(-0.5)) * high * high);
    parts.r = parts.sum = mul_add(B(T(-0.5)) * (t - high), t + high, parts.r);
    const B scale = power_of_two<false>(parts.shifted),
            e = mul_add(scale, expm1_of_rest<false>(parts), scale);
    const B k = B(T(1)) / mul_add(t, B(N::tail_scale), B(T(1)));
    return factor * (e * (B(T(1) / lifted_one<T>) * k * polynomial(k, N::tail_poly)));
  }
}

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
  // Without the table, whose powers are too far from their rounded values where 1 is taken from them.
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

/// log(x) by a polynomial as Format's log_poly; `denormals` says whether x may be one.
template <bool denormals, class T, class A, std::size_t n>
inline xsimd::batch<T, A> log_by(const T (&poly)[n], const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  using N = Format<T>;
  using U = typename N::bits;
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
  const B s = f / (f + B(T(2))), z = s * s, half = B(T(0.5)) * f * f;
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
  const B s = x / (x + B(T(2))), z = s * s;
  return mul_add(s * z, detail::polynomial(z, detail::Format<T>::log1p_poly), s + s);
}

/// log(1 + e^x)
template <class T, class A>
inline xsimd::batch<T, A> softplus(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  return at_least(x, B(T(0))) + simd::log1p_unit(simd::exp(x | B(detail::Format<T>::sign)));
}

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

/// 1 / (1 + e^-x)
template <class T, class A>
inline xsimd::batch<T, A> sigmoid(const xsimd::batch<T, A>& x) {
  using B = xsimd::batch<T, A>;
  using N = detail::Format<T>;
  const B one(detail::lifted_one<T>);
  const B e = detail::exp_plain<detail::lift<T>>(at_least(x | B(N::sign), B(N::exp_low)));
  return detail::choose_negative(x, e, one) / (one + e);
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
  using U = typename detail::Format<T>::bits;
  // Magnitudes are ordered as their bits are. NaN comes through the first term.
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
  return x * (n / (n + B(T(2))));
}

namespace detail {

/// Of x = n pi/2 + r, |x| <= 8192: the bits of n, sin(r) and cos(r).
template <class A>
struct Quarters {
  xsimd::batch<uint32_t, A> n;
  xsimd::batch<float, A> sine, cosine;
};
template <class A>
inline Quarters<A> quarters_of(const xsimd::batch<float, A>& x) {
  using B = xsimd::batch<float, A>;
  constexpr float magic = Format<float>::magic;
  // Rounded down, the parts of pi/2 keep the sign of -0.
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
  return choose_negative(odd, c, s) / (choose_negative(odd, s, c) ^ odd);
}

/// near(x), or far(v) of each lane where a lane lies beyond 8192, where the type is double, and where the
/// level has no FMA.
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
  const B r = above / below, z = r * r;
  const B rest = mul_add(r * z, detail::polynomial(z, z * z, N::atan_poly), share * low);
  return detail::copy_sign(mul_add(share, half, r + rest), x);
}

namespace detail {

/// Of asin(a), |a| <= 1, the part that the polynomial gives: asin(a) for a small a, else
/// (pi/2 - asin(|a|)) / 2.
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

namespace detail {

/// f(a, b) computed in double.
template <class A, class F>
inline xsimd::batch<float, A> through_double(const xsimd::batch<float, A>& a, const xsimd::batch<float, A>& b,
                                             F f) {
  using B = xsimd::batch<float, A>;
  using D = xsimd::batch<double, A>;
#if defined(__AVX512F__)
  if constexpr (bytes<A> == 64) {
    const auto low = [](__m512 v) { return D(_mm512_cvtps_pd(_mm512_castps512_ps256(v))); };
    const auto high = [](__m512 v) { return D(_mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1))); };
    const __m256 l = _mm512_cvtpd_ps(f(low(a), low(b))), h = _mm512_cvtpd_ps(f(high(a), high(b)));
    return B(_mm512_insertf32x8(_mm512_castps256_ps512(l), h, 1));
  } else
#endif
#if defined(__AVX2__)
      if constexpr (bytes<A> == 32) {
    const auto low = [](__m256 v) { return D(_mm256_cvtps_pd(_mm256_castps256_ps128(v))); };
    const auto high = [](__m256 v) { return D(_mm256_cvtps_pd(_mm256_extractf128_ps(v, 1))); };
    const __m128 l = _mm256_cvtpd_ps(f(low(a), low(b))), h = _mm256_cvtpd_ps(f(high(a), high(b)));
    return B(_mm256_insertf128_ps(_mm256_castps128_ps256(l), h, 1));
  } else
#endif
  {
    constexpr int width = static_cast<int>(B::size), half = static_cast<int>(D::size);
    alignas(64) float x[width], y[width];
    alignas(64) double p[width], q[width];
    storeu(x, a);
    storeu(y, b);
    for (int i = 0; i < width; ++i) p[i] = x[i], q[i] = y[i];
    for (int i = 0; i < width; i += half)
      storeu(p + i, f(D::load_unaligned(p + i), D::load_unaligned(q + i)));
    for (int i = 0; i < width; ++i) x[i] = static_cast<float>(p[i]);
    return B::load_aligned(x);
  }
}

}  // namespace detail

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
