#include "loader/compile/freestanding_text.hpp"

#include <algorithm>
#include <span>

#include "loader/compile/cpp_text.hpp"
#include "tenon/base/error.hpp"

namespace tenon::TENON_ABI::amalgamation {

namespace {

constexpr std::string_view standin_headers[] = {"exception", "memory", "mutex", "string", "thread", "vector"};

// Functions between a compiled model's calls and the functions that compute.
constexpr std::string_view inlined[] = {"call", "compute", "compute_with", "run_gemm", "set_addend"};

bool is_among(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// Whether the function whose name is at a position chooses among kernels by numbers that a compiled model's
// calls state. It is inlined, so that the compiler makes the choice and drops what no call needs.
bool chooses(std::string_view text, std::size_t name) {
  const std::size_t open = token_at(text, name).end;
  const std::string_view said = text.substr(name, open - name);
  if (!has(text, open, "(")) return false;
  if (said.ends_with("_impl") || is_among(said, inlined)) return true;
  const std::size_t body = skip_blanks(text, closing_bracket(text, open + 1) + 1);
  return has(text, body, "{") && has(text, skip_blanks(text, body + 1), "simd::dispatch(");
}
constexpr std::string_view always_inline = "__attribute__((always_inline)) ";

}  // namespace

bool has_standin(std::string_view standard_header) { return is_among(standard_header, standin_headers); }

std::string freestanding_text(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const Token t = token_at(text, at);
    const std::string_view word = text.substr(at, t.end - at);
    const std::size_t next = skip_blanks(text, t.end);
    if (t.part != Part::word) {
      result += word;
      at = t.end;
    } else if (word == "void" && next < text.size() && is_letter(text[next]) && chooses(text, next)) {
      result += str_cat(result.ends_with("inline ") ? "" : "inline ", always_inline, word);
      at = t.end;
    } else if (word == "Arch" && has(text, t.end, ") {") && result.ends_with(">(")) {
      result += str_cat(word, ") ", always_inline);
      at = t.end + 2;
    } else if (word == "decltype" && has(text, t.end, "(auto) dispatch(")) {
      result += str_cat("inline ", always_inline, word);
      at = t.end;
    } else {
      result += word;
      at = t.end;
    }
  }
  return result;
}

}  // namespace tenon::TENON_ABI::amalgamation
