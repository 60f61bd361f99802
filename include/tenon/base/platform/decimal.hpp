// std::from_chars for float and double, which libc++ before 20 and Apple's standard library lack: there the
// C library's strtod computes the number, in the plain locale.
#pragma once

#include <charconv>
#include <version>

#include "tenon/base/version.hpp"

#if defined(_LIBCPP_VERSION) && (_LIBCPP_VERSION < 200000 || defined(__APPLE__))
#define TENON_WITHOUT_FROM_CHARS
#include <locale.h>
#include <stdlib.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>
#endif

namespace tenon::TENON_ABI::detail {

#ifdef TENON_WITHOUT_FROM_CHARS

/// How many characters at the beginning of the text from_chars takes for a number; 0 if there is none.
constexpr std::size_t decimal_length(std::string_view text) {
  const auto has = [&](std::size_t at, std::string_view word) {
    for (std::size_t k = 0; k < word.size(); ++k)
      if (at + k >= text.size() || (text[at + k] | 0x20) != word[k]) return false;
    return true;
  };
  std::size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
  if (has(at, "infinity")) return at + 8;
  if (has(at, "inf") || has(at, "nan")) return at + 3;
  std::size_t digits = 0;
  const auto skip_digits = [&] {
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) ++digits;
  };
  skip_digits();
  if (at < text.size() && text[at] == '.') ++at, skip_digits();
  if (digits == 0) return 0;
  const std::size_t end = at;
  if (!has(at, "e")) return end;
  ++at;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  digits = 0;
  skip_digits();
  return digits > 0 ? at : end;
}

/// As from_chars, except that numbers too small for R give 0.
template <class R>
std::from_chars_result read_decimal_number(const char* first, const char* last, R& value) {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string number(first, decimal_length({first, static_cast<std::size_t>(last - first)}));
  if (number.empty()) return {first, std::errc::invalid_argument};
  R read = 0;
  if constexpr (std::is_same_v<R, float>) read = strtof_l(number.c_str(), nullptr, plain);
  else read = strtod_l(number.c_str(), nullptr, plain);
  const char* const end = first + number.size();
  const char lead = number[number[0] == '-'];
  if (std::isinf(read) && (lead == '.' || (lead >= '0' && lead <= '9')))
    return {end, std::errc::result_out_of_range};
  value = read;
  return {end, std::errc()};
}

#else

template <class R>
std::from_chars_result read_decimal_number(const char* first, const char* last, R& value) {
  return std::from_chars(first, last, value);
}

#endif

}  // namespace tenon::TENON_ABI::detail

#undef TENON_WITHOUT_FROM_CHARS
