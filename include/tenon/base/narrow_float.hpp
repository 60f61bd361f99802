// The floating-point types narrower than 32 bits: float16, bfloat16, the float8 family and float4e2m1.
//
// Each is a structural literal type around its bits. Construction rounds once, to nearest even, whatever the
// source; a value beyond the largest finite one becomes what ONNX's Cast makes of it with saturate = 1:
//
//                   from +-Inf     from beyond max   from NaN
//   float16         +-Inf          +-Inf             NaN, sign and leading payload bits kept
//   bfloat16        +-Inf          +-Inf             NaN, sign and leading payload bits kept
//   float8e4m3fn    +-max          +-max             NaN, sign kept
//   float8e5m2      +-max          +-max             NaN, sign kept
//   float8e*fnuz    +-max          +-max             NaN (there is one)
//   float4e2m1      +-max          +-max             -0 (it has neither Inf nor NaN)
//   float8e8m0      max            max               NaN; rounds up to a power of two; 0 gives the smallest
//
// convert.hpp has the conversions without saturation and with the other roundings of float8e8m0.
#pragma once

#include "tenon/base/version.hpp"

#include <bit>
#include <compare>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tenon::TENON_ABI {

namespace detail {

/// What the topmost bit patterns of a narrow float stand for.
enum class Specials : uint8_t {
  ieee,    // exponent all ones: Inf and NaN; too large gives Inf always
  ieee8,   // the same, but too large may saturate (float8e5m2)
  fn,      // exponent and mantissa all ones: NaN, no Inf
  fnuz,    // the pattern of -0: NaN; no Inf
  finite,  // neither
};

struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  Specials specials;

  constexpr int width() const { return 1 + exponent_bits + mantissa_bits; }
  constexpr uint32_t sign() const { return uint32_t{1} << (exponent_bits + mantissa_bits); }
  constexpr int min_exponent() const { return 1 - bias; }  // of the normal numbers
  constexpr bool has_infinity() const { return specials == Specials::ieee || specials == Specials::ieee8; }
  constexpr uint32_t infinity() const { return sign() - (uint32_t{1} << mantissa_bits); }
  constexpr uint32_t max() const {
    return has_infinity() ? infinity() - 1 : specials == Specials::fn ? sign() - 2 : sign() - 1;
  }
  // float4e2m1 has no NaN: the pattern of -0 is what ONNX's own data holds in its place.
  constexpr uint32_t nan() const {
    return has_infinity()             ? infinity() | (uint32_t{1} << (mantissa_bits - 1))
           : specials == Specials::fn ? sign() - 1
                                      : sign();
  }
};

/// The IEEE layout of float and double.
template <class R>
struct WideFormat;
template <>
struct WideFormat<float> {
  using Bits = uint32_t;
  static constexpr int mantissa = 23, bias = 127;
};
template <>
struct WideFormat<double> {
  using Bits = uint64_t;
  static constexpr int mantissa = 52, bias = 1023;
};

/// The bits of x (float or double) in format F, rounded to nearest even.
template <FloatFormat F, class R>
constexpr uint32_t encode_float(R x, bool saturate) {
  using W = WideFormat<R>;
  using U = typename W::Bits;
  constexpr U wide_sign = U{1} << (sizeof(U) * 8 - 1);
  constexpr U wide_infinity = wide_sign - (U{1} << W::mantissa);
  const U u = std::bit_cast<U>(x);
  const U magnitude = u & ~wide_sign;
  const uint32_t sign = (u & wide_sign) != 0 ? F.sign() : 0;

  if (magnitude > wide_infinity) {
    if (F.specials == Specials::fnuz || F.specials == Specials::finite) return F.nan();
    // As the processors' own conversions do: the payload's leading bits stay, the quiet bit is set.
    if (F.specials == Specials::ieee) {
      constexpr U payload = (U{1} << F.mantissa_bits) - 1;
      return sign | F.nan() | static_cast<uint32_t>((magnitude >> (W::mantissa - F.mantissa_bits)) & payload);
    }
    return sign | F.nan();
  }

  // x = significand * 2^(exponent - W::mantissa)
  const int field = static_cast<int>(magnitude >> W::mantissa);
  const U fraction = magnitude & ((U{1} << W::mantissa) - 1);
  const U significand = field != 0 ? fraction | (U{1} << W::mantissa) : fraction;
  const int exponent = (field != 0 ? field : 1) - W::bias;
  // Numbers below the normal range have the quantum of the smallest normal number.
  const int below = exponent < F.min_exponent() ? F.min_exponent() - exponent : 0;
  const int shift = W::mantissa - F.mantissa_bits + below;
  uint32_t result = 0;
  if (shift <= W::mantissa + 1) {  // else under half of the smallest number
    const U odd = (significand >> shift) & 1;
    const U rounded = (significand + (U{1} << (shift - 1)) - 1 + odd) >> shift;
    const int above = exponent + below - F.min_exponent();
    // Past every format's range already: keep the sum from wrapping.
    if (above > (1 << F.exponent_bits)) result = F.sign();
    else result = static_cast<uint32_t>(rounded) + (static_cast<uint32_t>(above) << F.mantissa_bits);
  }
  if (result > F.max()) {
    if (F.specials == Specials::finite || (saturate && F.specials != Specials::ieee)) return sign | F.max();
    if (F.has_infinity()) return sign | F.infinity();
    return F.specials == Specials::fn ? sign | F.nan() : F.nan();
  }
  if (F.specials == Specials::fnuz && result == 0) return 0;
  return sign | result;
}

/// The value of a bit pattern in format F; exact.
template <FloatFormat F>
constexpr float decode_float(uint32_t bits) {
  constexpr int up = 23 - F.mantissa_bits;
  const uint32_t sign = (bits & F.sign()) != 0 ? 0x80000000u : 0;
  const uint32_t magnitude = bits & (F.sign() - 1);
  // bfloat16 is the upper half of a float: no special case, and its denormals stay clear of float arithmetic.
  if constexpr (F.exponent_bits == 8) return std::bit_cast<float>(bits << 16);
  if (F.specials == Specials::fnuz && bits == F.nan()) return std::numeric_limits<float>::quiet_NaN();
  if (F.specials == Specials::fn && magnitude == F.nan()) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (F.has_infinity() && magnitude >= F.infinity()) {
    const uint32_t quiet = magnitude > F.infinity() ? 0x7fc00000u : 0x7f800000u;
    return std::bit_cast<float>(sign | quiet | ((magnitude - F.infinity()) << up));
  }
  if (magnitude >> F.mantissa_bits == 0) {
    constexpr float quantum =
        std::bit_cast<float>(static_cast<uint32_t>(F.min_exponent() - F.mantissa_bits + 127) << 23);
    return std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(magnitude) * quantum) | sign);
  }
  constexpr uint32_t rebias = static_cast<uint32_t>(127 - F.bias) << 23;
  return std::bit_cast<float>(sign | ((magnitude << up) + rebias));
}

/// An integer as a double that rounds to any type of at most 24 significant bits as the integer itself would:
/// the bits that a double may not hold are gathered into one sticky bit instead of being rounded.
template <class I>
constexpr double sticky_double(I value) {
  if constexpr (sizeof(I) < 8) {
    return static_cast<double>(value);
  } else {
    const bool negative = value < 0;
    uint64_t magnitude = negative ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
    const uint64_t low = magnitude & 0xfff;
    if (magnitude >> 53 != 0) magnitude = magnitude - low + (low != 0 ? 0x800 : 0);
    const auto real = static_cast<double>(magnitude);
    return negative ? -real : real;
  }
}

/// The number that a narrow float is constructed from, as float or double, ready to be rounded once.
template <class A>
constexpr auto rounding_source(A value) {
  if constexpr (std::is_floating_point_v<A>) return value;
  else return sticky_double(value);
}

template <class A>
concept Arithmetic = std::is_arithmetic_v<A> && !std::is_same_v<A, long double>;

template <class R>
concept WideFloat = std::is_same_v<R, float> || std::is_same_v<R, double>;

/// The common base of the narrow floats with a sign and a mantissa. T is the type itself.
template <class T, FloatFormat F>
struct NarrowFloat {
  using Bits = std::conditional_t<(F.width() > 8), uint16_t, uint8_t>;
  static constexpr FloatFormat format = F;

  Bits bits;

  NarrowFloat() = default;
  template <Arithmetic A>
  constexpr explicit NarrowFloat(A value)
      : bits(static_cast<Bits>(encode_float<F>(rounding_source(value), true))) {}

  static constexpr T from_bits(Bits bits) {
    T value{};
    value.bits = bits;
    return value;
  }

  template <WideFloat R>
  constexpr explicit operator R() const {
    return static_cast<R>(decode_float<F>(bits));
  }

  friend constexpr bool operator==(T a, T b) { return static_cast<float>(a) == static_cast<float>(b); }
  friend constexpr std::partial_ordering operator<=>(T a, T b) {
    return static_cast<float>(a) <=> static_cast<float>(b);
  }
  friend constexpr T operator-(T a) {
    // A type without -0 has NaN at its bit pattern: 0 and NaN are their own negatives.
    const bool keep = F.specials == Specials::fnuz && (a.bits & (F.sign() - 1)) == 0;
    return T::from_bits(keep ? a.bits : static_cast<Bits>(a.bits ^ F.sign()));
  }
};

/// Arithmetic as float, rounded back after each operation. With at most 11 significant bits that is the same
/// as rounding the exact result of + - * / once, since float has more than twice as many.
template <class T>
struct FloatArithmetic {
  friend constexpr T operator+(T a, T b) { return T(static_cast<float>(a) + static_cast<float>(b)); }
  friend constexpr T operator-(T a, T b) { return T(static_cast<float>(a) - static_cast<float>(b)); }
  friend constexpr T operator*(T a, T b) { return T(static_cast<float>(a) * static_cast<float>(b)); }
  friend constexpr T operator/(T a, T b) { return T(static_cast<float>(a) / static_cast<float>(b)); }
  friend constexpr T& operator+=(T& a, T b) { return a = a + b; }
  friend constexpr T& operator-=(T& a, T b) { return a = a - b; }
  friend constexpr T& operator*=(T& a, T b) { return a = a * b; }
  friend constexpr T& operator/=(T& a, T b) { return a = a / b; }
};

}  // namespace detail

/// IEEE 754 binary16: 1 sign, 5 exponent, 10 mantissa bits; largest 65504.
struct float16 : detail::NarrowFloat<float16, detail::FloatFormat{5, 10, 15, detail::Specials::ieee}>,
                 detail::FloatArithmetic<float16> {
  using NarrowFloat::NarrowFloat;
};

/// The upper half of a float: 1 sign, 8 exponent, 7 mantissa bits.
struct bfloat16 : detail::NarrowFloat<bfloat16, detail::FloatFormat{8, 7, 127, detail::Specials::ieee}>,
                  detail::FloatArithmetic<bfloat16> {
  using NarrowFloat::NarrowFloat;
};

/// 4 exponent, 3 mantissa bits, NaN but no Inf; largest 448.
struct float8e4m3fn : detail::NarrowFloat<float8e4m3fn, detail::FloatFormat{4, 3, 7, detail::Specials::fn}> {
  using NarrowFloat::NarrowFloat;
};

/// 4 exponent, 3 mantissa bits, one NaN, no Inf, no -0; largest 240.
struct float8e4m3fnuz
    : detail::NarrowFloat<float8e4m3fnuz, detail::FloatFormat{4, 3, 8, detail::Specials::fnuz}> {
  using NarrowFloat::NarrowFloat;
};

/// 5 exponent, 2 mantissa bits, Inf and NaN as in IEEE 754; largest 57344.
struct float8e5m2 : detail::NarrowFloat<float8e5m2, detail::FloatFormat{5, 2, 15, detail::Specials::ieee8}> {
  using NarrowFloat::NarrowFloat;
};

/// 5 exponent, 2 mantissa bits, one NaN, no Inf, no -0; largest 57344.
struct float8e5m2fnuz
    : detail::NarrowFloat<float8e5m2fnuz, detail::FloatFormat{5, 2, 16, detail::Specials::fnuz}> {
  using NarrowFloat::NarrowFloat;
};

/// 2 exponent, 1 mantissa bit in the low nibble of `bits`: +-{0, 0.5, 1, 1.5, 2, 3, 4, 6}.
struct float4e2m1 : detail::NarrowFloat<float4e2m1, detail::FloatFormat{2, 1, 1, detail::Specials::finite}> {
  using NarrowFloat::NarrowFloat;
};

/// Where a value between two powers of two goes in float8e8m0.
enum class E8M0Round : uint8_t {
  up,       ///< to the larger
  down,     ///< to the smaller
  nearest,  ///< to the nearer; halfway goes up
};

namespace detail {

/// ONNX leaves negative numbers open: their magnitude counts. Without saturation, numbers that round out of
/// the range are NaN, and so is 0.
constexpr uint8_t encode_e8m0(double x, bool saturate, E8M0Round round) {
  constexpr uint8_t nan = 0xff, largest = 0xfe, smallest = 0;
  const uint64_t magnitude = std::bit_cast<uint64_t>(x) & ~(uint64_t{1} << 63);
  const uint64_t fraction = magnitude & ((uint64_t{1} << 52) - 1);
  const int field = static_cast<int>(magnitude >> 52);
  if (field == 0x7ff) return fraction == 0 && saturate ? largest : nan;
  if (magnitude == 0) return saturate ? smallest : nan;
  int exponent = field - 1023;  // a denormal double lies far below the range all the same
  if (round == E8M0Round::up) {
    exponent += fraction != 0;
    if (exponent < -127) return smallest;
  } else if (round == E8M0Round::nearest) {
    exponent += fraction >> 51 != 0;
  }
  if (exponent < -127) return saturate ? smallest : nan;
  if (exponent > 127) return saturate ? largest : nan;
  return static_cast<uint8_t>(exponent + 127);
}

}  // namespace detail

/// 2^(bits - 127), or NaN at 255: the scales of the microscaling formats. No sign, no zero.
struct float8e8m0 {
  using Bits = uint8_t;

  uint8_t bits;

  float8e8m0() = default;
  template <detail::Arithmetic A>
  constexpr explicit float8e8m0(A value)
      : bits(detail::encode_e8m0(static_cast<double>(detail::rounding_source(value)), true, E8M0Round::up)) {}

  static constexpr float8e8m0 from_bits(uint8_t bits) {
    float8e8m0 value{};
    value.bits = bits;
    return value;
  }

  template <detail::WideFloat R>
  constexpr explicit operator R() const {
    if (bits == 0xff) return std::numeric_limits<R>::quiet_NaN();
    return static_cast<R>(std::bit_cast<float>(bits == 0 ? uint32_t{0x00400000} : uint32_t{bits} << 23));
  }

  friend constexpr bool operator==(float8e8m0 a, float8e8m0 b) { return a.bits == b.bits && a.bits != 0xff; }
  friend constexpr std::partial_ordering operator<=>(float8e8m0 a, float8e8m0 b) {
    return static_cast<float>(a) <=> static_cast<float>(b);
  }
};

namespace detail {

template <class T>
struct NarrowFloatLimits : std::numeric_limits<void> {
  static constexpr FloatFormat format = T::format;
  static constexpr bool is_specialized = true, is_signed = true, is_exact = false, is_bounded = true;
  static constexpr bool is_iec559 = format.specials == Specials::ieee;
  static constexpr bool has_infinity = format.has_infinity();
  static constexpr bool has_quiet_NaN = format.specials != Specials::finite;
  static constexpr int radix = 2;
  static constexpr int digits = format.mantissa_bits + 1;
  static constexpr int min_exponent = format.min_exponent() + 1;
  static constexpr int max_exponent =
      static_cast<int>(format.max() >> format.mantissa_bits) - format.bias + 1;

  static constexpr T of(uint32_t bits) { return T::from_bits(static_cast<typename T::Bits>(bits)); }
  static constexpr T max() noexcept { return of(format.max()); }
  static constexpr T lowest() noexcept { return of(format.max() | format.sign()); }
  static constexpr T min() noexcept { return of(uint32_t{1} << format.mantissa_bits); }
  static constexpr T denorm_min() noexcept { return of(1); }
  static constexpr T infinity() noexcept { return of(has_infinity ? format.infinity() : 0); }
  static constexpr T quiet_NaN() noexcept { return of(has_quiet_NaN ? format.nan() : 0); }
  static constexpr T epsilon() noexcept {
    return T(std::bit_cast<float>(static_cast<uint32_t>(127 - format.mantissa_bits) << 23));
  }
};

}  // namespace detail

}  // namespace tenon::TENON_ABI

template <>
struct std::numeric_limits<tenon::float16> : tenon::detail::NarrowFloatLimits<tenon::float16> {};
template <>
struct std::numeric_limits<tenon::bfloat16> : tenon::detail::NarrowFloatLimits<tenon::bfloat16> {};
template <>
struct std::numeric_limits<tenon::float8e4m3fn> : tenon::detail::NarrowFloatLimits<tenon::float8e4m3fn> {};
template <>
struct std::numeric_limits<tenon::float8e4m3fnuz> : tenon::detail::NarrowFloatLimits<tenon::float8e4m3fnuz> {
};
template <>
struct std::numeric_limits<tenon::float8e5m2> : tenon::detail::NarrowFloatLimits<tenon::float8e5m2> {};
template <>
struct std::numeric_limits<tenon::float8e5m2fnuz> : tenon::detail::NarrowFloatLimits<tenon::float8e5m2fnuz> {
};
template <>
struct std::numeric_limits<tenon::float4e2m1> : tenon::detail::NarrowFloatLimits<tenon::float4e2m1> {};
