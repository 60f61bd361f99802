#include "loader/compile/cpp_text.hpp"

#include <algorithm>
#include <vector>

#include "tenon/base/error.hpp"

namespace tenon::TENON_ABI::amalgamation {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The end of a quoted literal; the end of the text if it is not closed.
std::size_t literal_end(std::string_view text, std::size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote) at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}
std::size_t raw_literal_end(std::string_view text, std::size_t quote) {
  const std::size_t open = std::min(text.find('(', quote), text.size());
  const std::string close = str_cat(")", text.substr(quote + 1, open - quote - 1), "\"");
  const std::size_t end = text.find(close, open);
  return end == text.npos ? text.size() : end + close.size();
}

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? std::string_view() : path.substr(0, slash);
}

}  // namespace

char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_letter(char c) { return (lower_case(c) >= 'a' && lower_case(c) <= 'z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

Token token_at(std::string_view text, std::size_t at) {
  const auto next = [&](std::size_t i) { return i < text.size() ? text[i] : '\0'; };
  const char c = text[at];
  if (c == '/' && next(at + 1) == '/') return {Part::comment, std::min(text.find('\n', at), text.size())};
  if (c == '/' && next(at + 1) == '*') {
    const std::size_t end = text.find("*/", at + 2);
    return {Part::comment, end == text.npos ? text.size() : end + 2};
  }
  if (c == '"' || c == '\'') return {Part::literal, literal_end(text, at)};
  std::size_t end = at + 1;
  if (is_digit(c)) {
    while (is_word(next(end)) || next(end) == '.' || (next(end) == '\'' && is_word(next(end + 1)))) ++end;
    return {Part::number, end};
  }
  if (is_letter(c)) {
    while (is_word(next(end))) ++end;
    if (next(end) == '"' && text[end - 1] == 'R') return {Part::literal, raw_literal_end(text, end)};
    return {Part::word, end};
  }
  return {Part::other, end};
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}
bool has(std::string_view text, std::size_t at, std::string_view what) {
  return text.substr(std::min(at, text.size())).starts_with(what);
}
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::size_t closing_bracket(std::string_view text, std::size_t at) {
  for (int depth = 0; at < text.size();) {
    const char c = text[at];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth-- == 0) return at;
    at = token_at(text, at).end;
  }
  return text.size();
}

std::string_view word_of(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_word(text[end])) ++end;
  return text.substr(0, end);
}

Directive directive_of(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with('#')) return {};
  line = trimmed(line.substr(1));
  std::size_t end = 0;
  while (end < line.size() && is_letter(line[end])) ++end;
  return {line.substr(0, end), trimmed(line.substr(end))};
}

std::string path_from(std::string_view file, std::string_view path) {
  std::vector<std::string_view> steps;
  for (std::string_view rest : {folder_of(file), path}) {
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('/'), rest.size());
      const std::string_view step = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (step == ".." && !steps.empty()) steps.pop_back();
      else if (step != "." && !step.empty()) steps.push_back(step);
    }
  }
  std::string result;
  for (const std::string_view step : steps) result += str_cat(result.empty() ? "" : "/", step);
  return result;
}

std::string without_comments(std::string_view text, bool keep_documentation) {
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const Token t = token_at(text, at);
    const std::string_view said = text.substr(at, t.end - at);
    if (t.part != Part::comment || (keep_documentation && said.starts_with("///"))) plain += said;
    else plain += ' ';
    at = t.end;
  }
  std::string lines;
  for (std::string_view rest = plain; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    if (!line.empty() || lines.ends_with("\\\n"))
      lines.append(line) += '\n';  // an empty line also ends a macro
  }
  return lines;
}

}  // namespace tenon::TENON_ABI::amalgamation
