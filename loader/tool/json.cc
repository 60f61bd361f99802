#include "loader/tool/json.hpp"

#include <cstdio>

#include "tenon/base/utf8.hpp"

namespace tenon::TENON_ABI::tool {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  const char *at = text.data(), *const end = at + text.size();
  while (at < end) {
    const detail::CodePoint c = detail::decode_utf8(at, end);
    if (c.length == 0) {
      out += "\uFFFD";
      ++at;
      continue;
    }
    if (c.value < 0x20 || c.value == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c.value));
      out += escape;
    } else {
      if (c.value == '"' || c.value == '\\') out += '\\';
      out.append(at, static_cast<std::size_t>(c.length));
    }
    at += c.length;
  }
  return out + "\"";
}

JsonWriter& JsonWriter::whole(double number) {
  char text[400];
  std::snprintf(text, sizeof text, "%.0f", number);
  return raw(text);
}

}  // namespace tenon::TENON_ABI::tool
