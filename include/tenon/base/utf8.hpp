// UTF-8: decoding and encoding of code points.
#pragma once

#include <string_view>

#include "tenon/base/version.hpp"

namespace tenon::TENON_ABI::detail {

/// A code point and the number of its bytes; none if the bytes are not UTF-8.
struct CodePoint {
  char32_t value = 0;
  int length = 0;
};

/// The code point at `at`, which lies before `end`. Overlong forms and surrogates are not UTF-8.
constexpr CodePoint decode_utf8(const char* at, const char* end) {
  const auto byte = [at](int k) { return static_cast<unsigned char>(at[k]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const int length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || end - at < length) return {};
  char32_t c = lead & (0xFFu >> (length + 1));
  for (int k = 1; k < length; ++k) {
    if ((byte(k) & 0xC0) != 0x80) return {};
    c = c << 6 | (byte(k) & 0x3Fu);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (c < least[length] || (c >= 0xD800 && c < 0xE000) || c > 0x10FFFF) return {};
  return {c, length};
}

/// Calls put(byte) for each byte of a code point.
template <class F>
constexpr void encode_utf8(char32_t c, F put) {
  const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr char32_t leads[] = {0, 0xC0, 0xE0, 0xF0};
  put(static_cast<char>(leads[more] | c >> (6 * more)));
  for (int k = more; k-- > 0;) put(static_cast<char>(0x80 | (c >> (6 * k) & 0x3F)));
}

constexpr bool is_utf8(std::string_view s) {
  const char *at = s.data(), *end = at + s.size();
  while (at < end) {
    const int length = decode_utf8(at, end).length;
    if (length == 0) return false;
    at += length;
  }
  return true;
}

}  // namespace tenon::TENON_ABI::detail
