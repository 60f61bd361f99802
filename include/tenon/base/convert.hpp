// Conversion between any two of the 26 element types, by the rules of ONNX's Cast.
//
//   to a float        rounded once, to nearest even; beyond the range +-Inf, or as CastOptions say for float8
//   to an integer     floats are truncated, integers lose their high bits; a float beyond the range,
//                     which ONNX leaves open, gives what detail::truncate_to says
//   to bool           whether it differs from zero; NaN does
//   to complex        with a zero imaginary part
//   from complex      the real part, but to complex and to string both parts
//   to string         as numpy prints: the shortest digits that read back as the same float16, float, double
//                     (other narrow floats print as the float of their value), "1.0", "1e-05", "inf", "nan",
//                     "True", "(1+2j)"
//   from string       decimal or scientific notation, "inf" and "nan" in any case and with a sign, "true" and
//                     "false" for bool, blanks around; to integers a fraction is cut off
//   to the same type  the same bits
#pragma once

#include <bit>
#include <charconv>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "tenon/base/error.hpp"
#include "tenon/base/platform/decimal.hpp"
#include "tenon/base/types.hpp"

namespace tenon::TENON_ABI {

/// What Cast's attributes choose.
struct CastOptions {
  /// For the float8 types: values that are too large give the largest finite one, rather than Inf or NaN. For
  /// float8e8m0 also: values that are too small, 0 included, give the smallest one, rather than NaN.
  bool saturate = true;
  /// For float8e8m0.
  E8M0Round round_mode = E8M0Round::up;
};

namespace detail {

// ---- numbers ---------------------------------------------------------------------------------------------

/// The number that an element represents, in an arithmetic type that holds it exactly; the real part of a
/// complex one.
template <Element T>
constexpr auto number_of(const T& value) {
  if constexpr (is_complex(dtype_of<T>)) return value.real();
  else if constexpr (std::is_arithmetic_v<T>) return value;
  else if constexpr (is_integer(dtype_of<T>)) return value.value();
  else return static_cast<float>(value);
}

template <Element To, Arithmetic N>
constexpr To from_number(N x, CastOptions options) {
  constexpr DType to = dtype_of<To>;
  if constexpr (to == DType::bool_) {
    return x != 0;
  } else if constexpr (to == DType::float8e8m0) {
    const auto real = static_cast<double>(rounding_source(x));
    return To::from_bits(encode_e8m0(real, options.saturate, options.round_mode));
  } else if constexpr (NarrowFloatElement<To>) {
    const uint32_t bits = encode_float<To::format>(rounding_source(x), options.saturate);
    return To::from_bits(static_cast<typename To::Bits>(bits));
  } else if constexpr (PackedElement<To>) {
    return To(x);
  } else if constexpr (is_integer(to) && std::is_floating_point_v<N>) {
    return truncate_to<To>(x);
  } else if constexpr (is_complex(to)) {
    return To(static_cast<typename To::value_type>(x));
  } else {
    return static_cast<To>(x);
  }
}

// ---- to text ---------------------------------------------------------------------------------------------

/// 0.digits * 10^exponent; the first and the last digit are not 0, and zero has no digits.
struct Decimal {
  std::string digits;
  int64_t exponent = 0;
};

/// Reads what from_chars accepts as a finite number, without its sign.
[[gnu::cold]] inline Decimal read_decimal(std::string_view text) {
  Decimal decimal;
  bool fraction = false;
  size_t i = 0;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') {
      fraction = true;
    } else if (text[i] == '0' && decimal.digits.empty()) {
      decimal.exponent -= fraction;
    } else {
      decimal.digits += text[i];
      decimal.exponent += !fraction;
    }
  }
  if (i < text.size()) {
    if (text[++i] == '+') ++i;
    const std::string_view power = text.substr(i);
    int value = 0;
    if (std::from_chars(power.data(), power.data() + power.size(), value).ec != std::errc{}) {
      value = power.starts_with('-') ? std::numeric_limits<int>::min() : std::numeric_limits<int>::max();
    }
    decimal.exponent += value;
  }
  while (decimal.digits.ends_with('0')) decimal.digits.pop_back();
  if (decimal.digits.empty()) decimal.exponent = 0;
  return decimal;
}

/// The shortest decimal that reads back as x, which is finite and not negative.
template <class T>
Decimal shortest_decimal(T x) {
  char text[48];
  char* const end = text + sizeof text;
  if constexpr (std::is_floating_point_v<T>) {
    const auto written = std::to_chars(text, end, x, std::chars_format::scientific);
    return read_decimal({text, static_cast<size_t>(written.ptr - text)});
  } else {
    const auto exact = static_cast<double>(x);
    for (int precision = 0;; ++precision) {
      const auto written = std::to_chars(text, end, exact, std::chars_format::scientific, precision);
      double back = 0;
      read_decimal_number(text, written.ptr, back);
      if (T(back) == x) return read_decimal({text, static_cast<size_t>(written.ptr - text)});
    }
  }
}

/// x as numpy prints it; `point` keeps a ".0" after a whole number.
template <class T>
[[gnu::cold]] std::string format_float(T x, bool point) {
  const auto wide = static_cast<double>(x);
  if (wide != wide) return "nan";
  const bool negative = (std::bit_cast<uint64_t>(wide) >> 63) != 0;
  std::string text = negative ? "-" : "";
  if (wide - wide != 0) return text += "inf";

  const Decimal decimal = shortest_decimal(negative ? -x : x);
  const std::string& digits = decimal.digits;
  const auto count = static_cast<int64_t>(digits.size());
  const int64_t exponent = decimal.exponent;
  if (count == 0) return text += point ? "0.0" : "0";
  if (exponent > 16 || exponent < -3) {
    text += digits[0];
    if (count > 1) (text += '.').append(digits, 1);
    const int64_t power = exponent - 1;
    text += power < 0 ? "e-" : "e+";
    if (power > -10 && power < 10) text += '0';
    return text += std::to_string(power < 0 ? -power : power);
  }
  if (exponent <= 0) return text.append("0.").append(static_cast<size_t>(-exponent), '0').append(digits);
  if (exponent >= count) {
    text.append(digits).append(static_cast<size_t>(exponent - count), '0');
    return point ? text += ".0" : text;
  }
  return text.append(digits, 0, static_cast<size_t>(exponent))
      .append(".")
      .append(digits, static_cast<size_t>(exponent));
}

/// Like printf's %f (chars_format::fixed), %g or %a without "0x", but independent of the locale's decimal
/// point.
inline std::string format_digits(double x, std::chars_format form, int precision) {
  char text[400];  // the greatest double has 309 digits before the point
  return {text, std::to_chars(text, text + sizeof text, x, form, precision).ptr};
}

template <Element T>
std::string format_element(const T& value) {
  if constexpr (dtype_of<T> == DType::bool_) {
    return value ? "True" : "False";
  } else if constexpr (is_integer(dtype_of<T>)) {
    return std::to_string(number_of(value));
  } else if constexpr (is_complex(dtype_of<T>)) {
    std::string imaginary = format_float(value.imag(), false) + 'j';
    const auto real = value.real();
    // Only +0 is left out: "2j" would read back with a real part of +0.
    if (real == 0 && std::bit_cast<uint64_t>(static_cast<double>(real)) == 0) return imaginary;
    if (imaginary[0] != '-') imaginary.insert(0, 1, '+');
    return '(' + format_float(real, false) + imaginary + ')';
  } else if constexpr (dtype_of<T> == DType::float16) {
    return format_float(value, true);
  } else {
    return format_float(number_of(value), true);
  }
}

// ---- from text -------------------------------------------------------------------------------------------

[[noreturn]] inline void malformed(std::string_view text, DType to) {
  constexpr size_t shown = 64;
  raise(ErrorCode::invalid_argument, "Cast", "'", text.substr(0, shown), text.size() > shown ? "..." : "",
        "' is no ", name_of(to));
}

constexpr std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\v\f\r";
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// The text without surrounding blanks and without a leading plus, which from_chars does not accept.
constexpr std::string_view bare_number(std::string_view text) {
  text = trim(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

/// The float or double nearest to the number in the text.
template <class R>
R parse_real(std::string_view text, DType to) {
  const std::string_view number = bare_number(text);
  const char* const end = number.data() + number.size();
  R value = 0;
  const auto read = read_decimal_number(number.data(), end, value);
  if (read.ptr != end || read.ec == std::errc::invalid_argument) malformed(text, to);
  if (read.ec == std::errc::result_out_of_range) {
    const bool negative = number[0] == '-';
    const bool large = read_decimal(number.substr(negative)).exponent > 0;
    value = large ? std::numeric_limits<R>::infinity() : R{0};
    return negative ? -value : value;
  }
  return value;
}

/// Compares the magnitude of a decimal text with |x|: -1 if it is less, 0 if it is equal, 1 if it is greater.
inline int compare_magnitude(std::string_view number, double x) {
  // 766 digits after the first are enough for any double.
  char text[800];
  if (number.starts_with('-')) number.remove_prefix(1);
  const auto written =
      std::to_chars(text, text + sizeof text, x < 0 ? -x : x, std::chars_format::scientific, 766);
  const Decimal a = read_decimal(number);
  const Decimal b = read_decimal({text, static_cast<size_t>(written.ptr - text)});
  if (a.exponent != b.exponent) return a.exponent < b.exponent ? -1 : 1;
  const int order = a.digits.compare(b.digits);
  return order < 0 ? -1 : order > 0;
}

/// A narrow float from text, rounded once. The nearest double suffices unless it lies exactly on a rounding
/// boundary: then the text itself tells on which side of it the number lies.
template <Element To>
To parse_narrow(std::string_view text, CastOptions options) {
  const auto nearest = parse_real<double>(text, dtype_of<To>);
  const To value = from_number<To>(nearest, options);
  const auto bits = std::bit_cast<uint64_t>(nearest);
  // Every rounding boundary has few significant bits, so the last bit of its double is never 1.
  if (nearest == 0 || nearest - nearest != 0 || (bits & 1) != 0) return value;
  const To below = from_number<To>(std::bit_cast<double>(bits - 1), options);
  const To above = from_number<To>(std::bit_cast<double>(bits + 1), options);
  if (below.bits == value.bits && above.bits == value.bits) return value;
  const int side = compare_magnitude(bare_number(text), nearest);
  return side == 0 ? value : side < 0 ? below : above;
}

template <Element To>
To parse_integer(std::string_view text) {
  const std::string_view number = bare_number(text);
  const char* const end = number.data() + number.size();
  const auto read = [&]<class I>(I& value) {
    const auto result = std::from_chars(number.data(), end, value);
    return result.ptr == end && result.ec == std::errc{};
  };
  int64_t value = 0;
  if (read(value)) return from_number<To>(value, {});
  uint64_t large = 0;
  if (read(large)) return from_number<To>(large, {});
  return from_number<To>(parse_real<double>(text, dtype_of<To>), {});
}

inline bool parse_bool(std::string_view text) {
  const auto is = [word = trim(text)](std::string_view lower) {
    if (word.size() != lower.size()) return false;
    for (size_t i = 0; i < word.size(); ++i) {
      if ((word[i] | 0x20) != lower[i]) return false;
    }
    return true;
  };
  if (is("true")) return true;
  if (is("false")) return false;
  return parse_real<double>(text, DType::bool_) != 0;
}

template <class Complex>
Complex parse_complex(std::string_view text) {
  using R = typename Complex::value_type;
  constexpr DType to = dtype_of<Complex>;
  std::string_view number = trim(text);
  if (number.starts_with('(') && number.ends_with(')')) number = number.substr(1, number.size() - 2);
  if (!number.ends_with('j') && !number.ends_with('J')) return Complex(parse_real<R>(number, to));
  number.remove_suffix(1);
  // The sign that separates the two parts: the last one that does not belong to an exponent.
  size_t split = number.find_last_of("+-");
  if (split != std::string_view::npos && split > 0 && (number[split - 1] | 0x20) == 'e') {
    split = number.find_last_of("+-", split - 1);
  }
  if (split == std::string_view::npos || split == 0) return Complex(0, parse_real<R>(number, to));
  return Complex(parse_real<R>(number.substr(0, split), to), parse_real<R>(number.substr(split), to));
}

template <Element To>
To parse_element(std::string_view text, CastOptions options) {
  constexpr DType to = dtype_of<To>;
  if constexpr (to == DType::bool_) return parse_bool(text);
  else if constexpr (is_complex(to)) return parse_complex<To>(text);
  else if constexpr (is_integer(to)) return parse_integer<To>(text);
  else if constexpr (NarrowFloatElement<To>) return parse_narrow<To>(text, options);
  else return parse_real<To>(text, to);
}

}  // namespace detail

/// `value` as a To.
/// @throws Error{invalid_argument} when a string is not a valid To.
template <Element To, Element From>
constexpr To convert(const From& value, CastOptions options = {}) {
  if constexpr (std::is_same_v<To, From>) return value;
  else if constexpr (std::is_same_v<To, std::string>) return detail::format_element(value);
  else if constexpr (std::is_same_v<From, std::string>) return detail::parse_element<To>(value, options);
  else if constexpr (is_complex(dtype_of<From>) && is_complex(dtype_of<To>)) return To(value);
  else return detail::from_number<To>(detail::number_of(value), options);
}

/// Converts the n elements at src into n elements at dst. Each is a T* or a PackedPtr<T>; they do not
/// overlap. Other elements in the first and the last byte of a packed dst stay as they are.
/// @throws Error{invalid_argument} as convert does.
template <class Dst, class Src>
constexpr void convert_n(Dst dst, Src src, int64_t n, CastOptions options = {}) {
  using To = typename std::iterator_traits<Dst>::value_type;
  using From = typename std::iterator_traits<Src>::value_type;
  for (int64_t i = 0; i < n; ++i) dst[i] = convert<To, From>(src[i], options);
}

namespace detail {

// ---- arrays of types known at run time -------------------------------------------------------------------
//
// A loop for every pair of types would make 676 loops. Blocks of elements pass through a panel instead:
// integers and bool as int64 (uint64 as the same bits), the rest as double. Both hold their sources exactly,
// so values are rounded only once.

inline constexpr int64_t panel_size = 256;  // 2 KiB, and whole bytes of any packed type

union Panel {
  int64_t integer[panel_size];
  double real[panel_size];
};

constexpr bool is_whole(DType d) { return is_integer(d) || d == DType::bool_; }

using LoadPanel = void (*)(Panel& panel, const void* src, int64_t first, int64_t n);
using StorePanel = void (*)(void* dst, int64_t first, const Panel& panel, int64_t n, CastOptions options);

template <class From>
void load_panel(Panel& panel, const void* src, int64_t first, int64_t n) {
  const auto p = element_pointer<From>(src) + first;
  for (int64_t i = 0; i < n; ++i) {
    const From value = p[i];
    if constexpr (is_whole(dtype_of<From>)) panel.integer[i] = static_cast<int64_t>(number_of(value));
    else panel.real[i] = static_cast<double>(number_of(value));
  }
}

template <class To, class N>
void store_panel(void* dst, int64_t first, const N* numbers, int64_t n, CastOptions options) {
  if constexpr (PackedElement<To>) {
    // Whole bytes at a time: reads nothing of dst, and leaves zeros after the last element.
    constexpr int per_byte = PackedPtr<To>::per_byte;
    uint8_t* byte = static_cast<uint8_t*>(dst) + first / per_byte;
    for (int64_t i = 0; i < n; i += per_byte) {
      int joined = 0;
      for (int lane = 0; lane < per_byte && i + lane < n; ++lane) {
        joined |= from_number<To>(numbers[i + lane], options).bits << (lane * packed_width<To>);
      }
      *byte++ = static_cast<uint8_t>(joined);
    }
  } else {
    To* p = static_cast<To*>(dst) + first;
    for (int64_t i = 0; i < n; ++i) p[i] = from_number<To>(numbers[i], options);
  }
}

template <class To>
void store_integers(void* dst, int64_t first, const Panel& panel, int64_t n, CastOptions options) {
  store_panel<To>(dst, first, panel.integer, n, options);
}

template <class To>
void store_reals(void* dst, int64_t first, const Panel& panel, int64_t n, CastOptions options) {
  store_panel<To>(dst, first, panel.real, n, options);
}

/// Converts a panel of integers to doubles. If the destination is double, integers are rounded here;
/// otherwise only the store rounds, and sticky_double keeps enough bits for it.
template <class I>
void integers_to_reals(Panel& panel, int64_t n, bool to_double) {
  for (int64_t i = 0; i < n; ++i) {
    const auto value = static_cast<I>(panel.integer[i]);
    panel.real[i] = to_double ? static_cast<double>(value) : sticky_double(value);
  }
}

inline void convert_numbers(DType to, void* dst, DType from, const void* src, int64_t n,
                            CastOptions options) {
  LoadPanel load = nullptr;
  StorePanel store = nullptr;
  const bool integers = is_whole(from);
  visit_dtype(from, [&]<class From>() {
    if constexpr (!std::is_same_v<From, std::string>) load = load_panel<From>;
  });
  visit_dtype(to, [&]<class To>() {
    if constexpr (is_whole(dtype_of<To>)) store = integers ? store_integers<To> : store_reals<To>;
    else if constexpr (!std::is_same_v<To, std::string>) store = store_reals<To>;
  });
  const bool to_double = to == DType::float64 || to == DType::complex128;
  Panel panel;
  for (int64_t first = 0; first < n; first += panel_size) {
    const int64_t count = n - first < panel_size ? n - first : panel_size;
    load(panel, src, first, count);
    if (integers && !is_whole(to)) {
      if (from == DType::uint64) integers_to_reals<uint64_t>(panel, count, to_double);
      else integers_to_reals<int64_t>(panel, count, to_double);
    }
    store(dst, first, panel, count, options);
  }
}

inline void copy_elements(DType type, void* dst, const void* src, int64_t n) {
  const int64_t bytes = packed_bytes(n, type);
  std::memcpy(dst, src, static_cast<size_t>(bytes));
  if (is_packed(type)) {
    const int used = static_cast<int>(n * bits_of(type) % 8);
    if (used != 0) static_cast<uint8_t*>(dst)[bytes - 1] &= static_cast<uint8_t>((1 << used) - 1);
  }
}

}  // namespace detail

/// Converts n elements of type `from` at src into n of type `to` at dst, which do not overlap. Strings are
/// std::string objects, alive on both sides; packed types start at a byte, and the unused bits of the last
/// byte become zero.
/// @throws Error{invalid_argument} as convert does; Error{invalid_type} when a type is undefined.
inline void convert_n(DType to, void* dst, DType from, const void* src, int64_t n, CastOptions options = {}) {
  const auto elements = [&]<class To, class From>() {
    convert_n(element_pointer<To>(dst), element_pointer<From>(src), n, options);
  };
  if (to == DType::undefined || from == DType::undefined) {
    raise(ErrorCode::invalid_type, "Cast", "undefined element type");
  }
  if (n <= 0) return;
  if (is_string(from)) {
    if (is_packed(to)) std::memset(dst, 0, static_cast<size_t>(packed_bytes(n, to)));
    visit_dtype(to, [&]<class To>() { elements.template operator()<To, std::string>(); });
  } else if (is_string(to)) {
    visit_dtype(from, [&]<class From>() {
      if constexpr (!std::is_same_v<From, std::string>) elements.template operator()<std::string, From>();
    });
  } else if (to == from) {
    detail::copy_elements(to, dst, src, n);
  } else if (is_complex(to) && is_complex(from)) {
    if (to == DType::complex64) elements.template operator()<complex64, complex128>();
    else elements.template operator()<complex128, complex64>();
  } else {
    detail::convert_numbers(to, dst, from, src, n, options);
  }
}

}  // namespace tenon::TENON_ABI
