// The lexical elements of ONNX's textual syntax: words, strings, numbers, lists.
#pragma once

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "loader/text/text_words.hpp"
#include "tenon/base/convert.hpp"
#include "tenon/base/error.hpp"

namespace tenon::TENON_ABI::loader {

/// Reads a text from its beginning. Error{invalid_model} with the line and the column.
class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  [[noreturn]] void fail(const std::string& message) const { fail(at_, message); }

 protected:
  struct Number {
    std::size_t at;
    std::string_view text;
    bool whole;   // no point or exponent
    bool digits;  // and not a word
  };

  [[noreturn]] void fail(std::size_t at, const std::string& message) const;
  [[noreturn]] void fail_to_find(std::string_view what);
  // A part of the text, for error messages.
  static std::string shown(std::string_view part);

  void skip_space();
  // The next character after white space, or 0.
  char peek() { return at_end() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail_to_find(str_cat("'", c, "'"));
  }
  void expect_arrow() {
    skip_space();
    if (text_.substr(at_, 2) != "=>") fail_to_find("'=>'");
    at_ += 2;
  }
  // Reads the elements of a list, separated by commas, up to and including its end; there may be none.
  template <class Read>
  void read_list(char end, Read read_element) {
    if (take(end)) return;
    do read_element();
    while (take(','));
    expect(end);
  }

  // The next word, "" if there is none; it is not consumed.
  std::string_view find_word();
  std::string read_word(std::string_view what = "a name");
  std::string read_name() { return peek() == '"' ? read_string() : read_word(); }
  std::string read_qualified_name() {
    std::string name = read_word();
    while (take('.')) name += str_cat(".", read_word());
    return name;
  }
  // Names, any of which may be missing. A trailing comma adds none.
  template <class Names>
  void read_names(Names& names) {
    do {
      if (peek() == '"' || begins_name(peek())) *names.Add() = read_name();
      else if (peek() == ',') names.Add();
      else return;
    } while (take(','));
  }

  // A backslash precedes a quote or a backslash that is part of the string.
  std::string read_string();

  Number find_number();
  template <class T>
  T value_of(const Number& n) const {
    const auto check = [&](bool right) {
      if (!right) fail(n.at, str_cat("'", shown(n.text), "' is no number of its type"));
    };
    T value{};
    if constexpr (std::is_integral_v<T>) {
      const char* last = n.text.data() + n.text.size();
      const auto [end, code] = std::from_chars(n.text.data(), last, value);
      check(code == std::errc() && end == last);
    } else {
      try {
        value = tenon::detail::parse_real<T>(n.text, dtype_of<T>);
      } catch (const Error&) {
        check(false);
      }
      check(!(n.digits && std::isinf(value)));
    }
    return value;
  }
  template <class T>
  T read_number() {
    return value_of<T>(find_number());
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace tenon::TENON_ABI::loader
