// JSON written by commands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::tool {

/// A string of JSON. Bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

/// An object or a list of JSON, member by member.
///
///     JsonWriter j;
///     j.begin('{').key("name").string("x").key("extents").begin('[').integer(1).null().end(']').end('}');
class JsonWriter {
 public:
  JsonWriter& begin(char bracket) {
    separate();
    text_ += bracket;
    first_ = true;
    return *this;
  }
  JsonWriter& end(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
  }
  JsonWriter& key(std::string_view name) {
    separate();
    text_ += json_string(name) + ": ";
    first_ = true;  // no comma before the value
    return *this;
  }
  JsonWriter& string(std::string_view text) { return raw(json_string(text)); }
  JsonWriter& integer(int64_t number) { return raw(std::to_string(number)); }
  /// A whole number that may exceed int64_t.
  JsonWriter& whole(double number);
  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }

  const std::string& text() const { return text_; }

 private:
  void separate() {
    if (!first_) text_ += ", ";
    first_ = false;
  }
  JsonWriter& raw(std::string_view value) {
    separate();
    text_ += value;
    return *this;
  }

  std::string text_;
  bool first_ = true;
};

}  // namespace tenon::TENON_ABI::tool
