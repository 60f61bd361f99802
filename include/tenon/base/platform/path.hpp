// Paths as text. Windows' are of UTF-16, and path::string gives the user's own encoding, or throws if that
// lacks a character.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tenon/base/utf8.hpp"

namespace tenon::TENON_ABI::detail {

/// A path for a message, or as a name: its bytes, or Windows' in UTF-8, where U+FFFD replaces halves of
/// surrogate pairs.
inline std::string path_text(const std::filesystem::path& file) {
#ifdef _WIN32
  std::string text;
  const std::wstring& units = file.native();
  for (std::size_t k = 0; k < units.size(); ++k) {
    char32_t c = units[k];
    if (c >= 0xD800 && c < 0xE000) {
      const char32_t next = k + 1 < units.size() ? units[k + 1] : 0;
      const bool pair = c < 0xDC00 && next >= 0xDC00 && next < 0xE000;
      c = pair ? 0x10000 + ((c - 0xD800) << 10) + (next - 0xDC00) : 0xFFFD;
      k += pair;
    }
    encode_utf8(c, [&](char byte) { text += byte; });
  }
  return text;
#else
  return file.native();
#endif
}

/// The path that text in UTF-8 names.
inline std::filesystem::path path_named(std::string_view text) {
#ifdef _WIN32
  return std::u8string(text.begin(), text.end());
#else
  return text;
#endif
}

}  // namespace tenon::TENON_ABI::detail
