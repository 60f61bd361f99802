// Constants of float and double, and the polynomials by which their functions are computed.
#pragma once

#include <limits>

#include "tenon/base/narrow_float.hpp"

namespace tenon::TENON_ABI::simd::detail {

template <class T>
struct Format;
template <>
struct Format<float> : tenon::detail::WideFormat<float> {
  static constexpr float magic = 0x1.8p23f;  // a sum with it has the rounded addend in its low bits
  static constexpr float sign = -0.0f, least_normal = 0x1p-126f,
                         infinity = std::numeric_limits<float>::infinity();
  // Below and above these, exp is 0 and infinity; from exp_normal on it is not a denormal.
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
  static constexpr Bits tail_split = 0xfffff000;  // t with half its digits
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
struct Format<double> : tenon::detail::WideFormat<double> {
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
  static constexpr Bits tail_split = 0xfffffffff8000000;
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

}  // namespace tenon::TENON_ABI::simd::detail
