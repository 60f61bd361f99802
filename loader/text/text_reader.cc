#include "loader/text/text_reader.hpp"

#include <algorithm>

namespace tenon::TENON_ABI::loader {

void TextReader::fail(std::size_t at, const std::string& message) const {
  const std::string_view before = text_.substr(0, at);
  const std::size_t line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const std::size_t column = at - (line == 1 ? 0 : before.rfind('\n') + 1) + 1;
  throw Error(ErrorCode::invalid_model, str_cat("line ", line, ", column ", column), message);
}

void TextReader::fail_to_find(std::string_view what) {
  skip_space();
  const std::string_view rest = text_.substr(at_);
  if (rest.empty()) fail(str_cat("expected ", what, ", but the text ends"));
  const std::size_t size = std::max<std::size_t>(find_word().size(), 1);
  fail(str_cat("expected ", what, " instead of '", shown(rest.substr(0, size)), "'"));
}

std::string TextReader::shown(std::string_view part) {
  std::string text(part.substr(0, 40));
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return part.size() > 40 ? text + "..." : text;
}

void TextReader::skip_space() {
  for (;;) {
    at_ = std::min(text_.find_first_not_of(" \t\n\v\f\r", at_), text_.size());
    if (at_ == text_.size() || text_[at_] != '#') return;
    at_ = std::min(text_.find('\n', at_), text_.size());
  }
}

std::string_view TextReader::find_word() {
  skip_space();
  std::size_t end = at_;
  if (end < text_.size() && begins_name(text_[end]))
    while (end < text_.size() && continues_name(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

std::string TextReader::read_word(std::string_view what) {
  const std::string_view word = find_word();
  if (word.empty()) fail_to_find(what);
  at_ += word.size();
  return std::string(word);
}

std::string TextReader::read_string() {
  if (peek() != '"') fail_to_find("a string");
  const std::size_t start = at_++;
  std::string value;
  for (;;) {
    const std::size_t stop = text_.find_first_of("\"\\", at_);
    if (stop >= text_.size() - 1 && (stop == text_.npos || text_[stop] == '\\'))
      fail(start, "the string has no end");
    value += text_.substr(at_, stop - at_);
    at_ = stop + 1;
    if (text_[stop] == '"') return value;
    value += text_[at_++];
  }
}

TextReader::Number TextReader::find_number() {
  skip_space();
  Number n{.at = at_, .text = {}, .whole = true, .digits = true};
  const auto skip_digits = [&] {
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
  };
  const auto take_any = [&](std::string_view characters) {
    const bool found = at_ < text_.size() && characters.find(text_[at_]) != characters.npos;
    return found ? text_[at_++] : '\0';
  };
  take_any("-");
  const char first = at_ < text_.size() ? text_[at_] : '\0';
  if (const std::string_view word = begins_name(first) ? find_word() : ""; is_number_word(word)) {
    n.whole = n.digits = false;
    at_ += word.size();
  } else {
    if (first < '0' || first > '9') at_ = n.at, fail_to_find("a value");
    skip_digits();
    if (take_any(".")) n.whole = false, skip_digits();
    if (take_any("eE")) n.whole = false, take_any("+-"), skip_digits();
  }
  n.text = text_.substr(n.at, at_ - n.at);
  return n;
}

}  // namespace tenon::TENON_ABI::loader
