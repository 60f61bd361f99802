#include "tenon/base/utf8.hpp"

#include <doctest/doctest.h>

#include <string>

namespace tenon::detail {

TEST_CASE("UTF-8: every code point there and back") {
  int wrong = 0;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    std::string bytes;
    encode_utf8(c, [&](char b) { bytes.push_back(b); });
    const CodePoint back = decode_utf8(bytes.data(), bytes.data() + bytes.size());
    const bool surrogate = c >= 0xD800 && c < 0xE000;
    wrong += surrogate ? back.length != 0 : back.value != c || back.length != static_cast<int>(bytes.size());
    wrong +=
        !surrogate && decode_utf8(bytes.data(), bytes.data() + bytes.size() - 1).length != 0 && c >= 0x80;
  }
  CHECK(wrong == 0);
}

TEST_CASE("UTF-8: bytes that are not UTF-8") {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {"\x80"sv, "\xC1\x81"sv, "\xC3"sv, "\xE0\x80\x80"sv, "\xED\xBF\xBF"sv, "\xF0\x80\x80\x80"sv,
        "\xF4\x90\x80\x80"sv, "\xF5\x80\x80\x80"sv, "a\xFF"sv})
    CHECK_FALSE(is_utf8(text));
  for (const std::string_view text : {""sv, "a\0b"sv, "\xC2\x80"sv, "\xF4\x8F\xBF\xBF"sv})
    CHECK(is_utf8(text));
}

}  // namespace tenon::detail
