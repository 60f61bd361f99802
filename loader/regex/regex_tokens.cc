// RegexTokens, with RE2: for any expression it takes time linear in the text for each token, and bounded
// memory.
#include "tenon/op/families/regex_tokens.hpp"

#include <algorithm>

#include "loader/regex/expression.hpp"

namespace tenon::TENON_ABI {
namespace {

int64_t code_points(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

// Where the code point at `at` ends.
std::size_t after(std::string_view text, std::size_t at) {
  if (at >= text.size()) return at + 1;
  return at + static_cast<std::size_t>(
                  tenon::detail::decode_utf8(text.data() + at, text.data() + text.size()).length);
}

// Calls found(at, size) for each match from left to right, which returns where the search continues.
template <class F>
void each_match(const re2::RE2& expression, std::string_view text, F found) {
  const re2::StringPiece piece(text.data(), text.size());
  re2::StringPiece match;
  for (std::size_t start = 0;
       start <= text.size() && expression.Match(piece, start, text.size(), re2::RE2::UNANCHORED, &match, 1);)
    start = found(static_cast<std::size_t>(match.data() - piece.data()), match.size());
}

}  // namespace

std::vector<std::vector<std::string_view>> RegexTokens::of(TensorView<const std::string> x,
                                                           std::string_view name) const {
  const auto compile = [&](std::string_view text) { return regex::compile(name, "expression", text, true); };
  std::vector<std::unique_ptr<const re2::RE2>> cuts;
  for (const std::string& s : separators) cuts.push_back(compile(s));
  const std::unique_ptr<const re2::RE2> wanted = expression.empty() ? nullptr : compile(expression);

  std::vector<std::vector<std::string_view>> rows(static_cast<std::size_t>(x.size()));
  for (int64_t k = 0; k < x.size(); ++k) {
    const std::string_view whole = x[k];
    regex::check_element(name, k, whole);
    std::vector<std::string_view>& row = rows[static_cast<std::size_t>(k)];
    if (wanted != nullptr) {
      each_match(*wanted, whole, [&](std::size_t at, std::size_t size) {
        const std::string_view token = whole.substr(at, size);
        if (code_points(token) < shortest) return after(whole, at);
        row.push_back(token);
        return at + size;
      });
      continue;
    }
    row.push_back(whole);
    std::vector<std::string_view> pieces;
    for (const auto& cut : cuts) {
      pieces.clear();
      for (const std::string_view text : row) {
        std::size_t begin = 0;
        const auto keep = [&](std::size_t end) {
          const std::string_view piece = text.substr(begin, end - begin);
          if (code_points(piece) >= shortest) pieces.push_back(piece);
        };
        each_match(*cut, text, [&](std::size_t at, std::size_t size) {
          keep(at);
          return begin = size > 0 ? at + size : after(text, at);
        });
        if (begin < text.size()) keep(text.size());
      }
      row.swap(pieces);
    }
  }
  return rows;
}

}  // namespace tenon::TENON_ABI
