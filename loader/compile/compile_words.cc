// The lexical elements of a compiled model's text.
#include "loader/compile/compile_words.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "tenon/base/error.hpp"

namespace tenon::TENON_ABI::emission {
namespace {

// C++ keywords.
constexpr std::string_view keywords[] = {
    "alignas",     "alignof",  "and",        "and_eq",    "asm",       "auto",         "bitand",
    "bitor",       "bool",     "break",      "case",      "catch",     "char",         "char16_t",
    "char32_t",    "char8_t",  "class",      "co_await",  "co_return", "co_yield",     "compl",
    "concept",     "const",    "const_cast", "consteval", "constexpr", "constinit",    "continue",
    "decltype",    "default",  "delete",     "do",        "double",    "dynamic_cast", "else",
    "enum",        "explicit", "export",     "extern",    "false",     "float",        "for",
    "friend",      "goto",     "if",         "inline",    "int",       "long",         "mutable",
    "namespace",   "new",      "noexcept",   "not",       "not_eq",    "nullptr",      "operator",
    "or",          "or_eq",    "private",    "protected", "public",    "register",     "reinterpret_cast",
    "requires",    "return",   "short",      "signed",    "sizeof",    "static",       "static_assert",
    "static_cast", "struct",   "switch",     "template",  "this",      "thread_local", "throw",
    "true",        "try",      "typedef",    "typeid",    "typename",  "union",        "unsigned",
    "using",       "virtual",  "void",       "volatile",  "wchar_t",   "while",        "xor",
    "xor_eq"};

// Names in the text, macros, and a keyword of GNU's C++.
constexpr std::string_view own[] = {
    "std",        "tenon",          "xsimd",     "op",      "kernels", "detail",   "simd",
    "passes",     "standin",        "memory",    "weights", "arena",   "run",      "Memory",
    "TensorView", "Shape",          "constants", "at",      "part",    "operands", "compute",
    "bytes_of",   "Absent",         "set",       "make",    "lent",    "from",     "size",
    "errno",      "linux",          "unix",      "words",   "apart",   "byte_at",  "take_entry",
    "put_entry",  "checked_length", "typeof"};

// Names of the C library, which no namespace may have.
constexpr std::string_view library_names[] = {
    "EOF",      "INFINITY",  "NAN",      "NULL",   "abort",    "abs",       "access",      "acos",
    "acosh",    "alarm",     "alloca",   "asin",   "asinh",    "assert",    "atan",        "atan2",
    "atanh",    "atexit",    "basename", "bind",   "bsearch",  "byteswap",  "calloc",      "cbrt",
    "ceil",     "clock",     "clone",    "close",  "connect",  "copysign",  "cos",         "cosh",
    "crypt",    "daemon",    "div",      "drem",   "dup",      "environ",   "erf",         "erfc",
    "exit",     "exp",       "exp10",    "exp2",   "expm1",    "fabs",      "fdim",        "ffs",
    "floor",    "fma",       "fmax",     "fmin",   "fmod",     "fork",      "free",        "frexp",
    "gamma",    "getenv",    "hypot",    "ilogb",  "index",    "ioctl",     "isinf",       "isnan",
    "j0",       "j1",        "jn",       "kill",   "labs",     "ldexp",     "lgamma",      "link",
    "listen",   "log",       "log10",    "log1p",  "log2",     "logb",      "lrint",       "lround",
    "main",     "malloc",    "memcpy",   "modf",   "nan",      "nearbyint", "nextafter",   "nice",
    "offsetof", "open",      "pause",    "pipe",   "poll",     "pow",       "printf",      "profil",
    "putc",     "puts",      "qsort",    "raise",  "rand",     "random",    "read",        "realloc",
    "recv",     "remainder", "remove",   "remquo", "rename",   "rewind",    "rindex",      "rint",
    "round",    "scalb",     "select",   "send",   "shutdown", "signal",    "significand", "sin",
    "sincos",   "sinh",      "sleep",    "socket", "splice",   "sqrt",      "srand",       "stat",
    "stderr",   "stdin",     "stdout",   "strlen", "swab",     "sync",      "syscall",     "system",
    "tan",      "tanh",      "tee",      "tgamma", "time",     "timezone",  "trunc",       "truncate",
    "tzset",    "unlink",    "vfork",    "wait",   "write",    "y0",        "y1",          "yn"};

/// Whether the text may define such a name itself: op3, in1, out0, list5, local2, trip4.
bool is_numbered(std::string_view text) {
  const std::size_t stem = text.find_first_of("0123456789");
  if (stem == std::string_view::npos || text.find_first_not_of("0123456789", stem) != std::string_view::npos)
    return false;
  constexpr std::string_view stems[] = {"go", "in",  "list",  "local", "next",
                                        "op", "out", "state", "steps", "trip"};
  return std::ranges::find(stems, text.substr(0, stem)) != std::end(stems);
}

}  // namespace

std::string identifier(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) text += c;
    else if (text.empty() || text.back() != '_') text += '_';
  }
  // Names that start with _ belong to the implementation.
  while (text.starts_with('_')) text.erase(0, 1);
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) text = str_cat('v', text);
  const auto is_in = [&](const auto& list) { return std::ranges::find(list, text) != std::end(list); };
  if (is_in(keywords) || is_in(own) || is_numbered(text)) text += '_';
  return text;
}

std::string namespace_name(std::string_view name) {
  const std::string text = identifier(name);
  return str_cat(text, std::ranges::find(library_names, text) != std::end(library_names) ? "_" : "");
}

std::string Identifiers::fresh(std::string_view name) {
  std::string stem = identifier(name);
  // All-capital names may be macros: M_PI, INT_MAX.
  if (stem.size() > 1 && std::ranges::none_of(stem, [](char c) { return c >= 'a' && c <= 'z'; }) &&
      !stem.ends_with('_'))
    stem += '_';
  std::string text = stem;
  for (int k = 2; !taken_.insert(text).second; ++k) text = str_cat(stem, stem.ends_with('_') ? "" : "_", k);
  return text;
}

std::string comment(std::string_view name) {
  std::string text;
  for (const char c : name) text += c >= ' ' && c < 127 && c != '\\' ? c : '?';  // char may be unsigned
  return text;
}

std::string c_text(std::string_view s) {
  std::string text = "\"";
  for (std::size_t k = 0; k < s.size(); ++k) {
    const char c = s[k];
    const bool trigraph = c == '?' && k > 0 && s[k - 1] == '?';
    if (c == '"' || c == '\\' || trigraph) {
      text += '\\';
      text += c;
    } else if (c >= ' ' && c < 127) {
      text += c;
    } else {
      const unsigned code = static_cast<unsigned char>(c);
      const bool digit_follows = k + 1 < s.size() && s[k + 1] >= '0' && s[k + 1] <= '7';
      text += '\\';
      for (unsigned shift = digit_follows || code > 077 ? 6 : code > 7 ? 3 : 0;; shift -= 3) {
        text += static_cast<char>('0' + (code >> shift & 7));
        if (shift == 0) break;
      }
    }
  }
  return text + '"';
}

std::string literal(int64_t v) { return v == INT64_MIN ? "INT64_MIN" : std::to_string(v); }
std::string literal(bool v) { return v ? "true" : "false"; }
std::string literal(double v) {
  char text[64];
  if (std::isfinite(v)) {
    char* const end = std::to_chars(text, text + sizeof text, std::fabs(v), std::chars_format::hex).ptr;
    return str_cat(std::signbit(v) ? "-0x" : "0x", std::string_view(text, end));
  }
  std::snprintf(text, sizeof text, "std::bit_cast<double>(std::uint64_t{0x%" PRIx64 "})",
                std::bit_cast<uint64_t>(v));
  return text;
}
std::string literal(float v) {
  if (std::isfinite(v)) return literal(static_cast<double>(v)) + "f";
  char text[64];
  std::snprintf(text, sizeof text, "std::bit_cast<float>(std::uint32_t{0x%" PRIx32 "})",
                std::bit_cast<uint32_t>(v));
  return text;
}

std::string type_name(DType d) {
  if (d == DType::float32 || d == DType::float64 || d == DType::bool_) return std::string(name_of(d));
  if (is_integer(d) && bits_of(d) >= 8) return str_cat("std::", name_of(d), "_t");
  return str_cat("tenon::", name_of(d));
}
std::string literal(DType d) {
  return d == DType::undefined ? "tenon::DType::undefined" : str_cat("tenon::dtype_of<", type_name(d), ">");
}

std::string literal(const Extents& e) {
  std::string text;
  for (const int64_t extent : e) text += str_cat(text.empty() ? "" : ", ", literal(extent));
  return str_cat("tenon::Extents{", text, "}");
}

std::string Constants::address(const Storage& storage, bool& of_file) {
  const std::string_view bytes(static_cast<const char*>(storage.data()), storage.size_bytes());
  const auto [it, added] = names_.try_emplace(bytes, std::string());
  const bool large = threshold_ && static_cast<int64_t>(bytes.size()) >= *threshold_;
  if (added) {
    kept_.push_back(storage);
    std::string& all = large ? weights_ : bytes_;
    all.resize((all.size() + 63) / 64 * 64);
    it->second = str_cat(large ? "(weights + " : "(words + ", all.size(), ")");
    all += bytes.empty() ? std::string_view("", 1) : bytes;
  }
  of_file |= large;
  return it->second;
}

std::string Constants::storage(const Storage& s, bool& of_file) {
  if (!s) return "{}";
  return str_cat("tenon::Storage::borrow(", address(s, of_file), ", ", s.size_bytes(), ")");
}

std::string Constants::list(std::string_view type, const std::vector<std::string>& elements) {
  std::string text;
  for (const std::string& e : elements) text += str_cat(text.empty() ? "" : ", ", e);
  if (text.empty()) return str_cat("std::span<const ", type, ">()");
  const auto [it, added] = lists_.try_emplace(str_cat(type, "|", text), str_cat("list", lists_.size()));
  if (added) text_ += str_cat("inline constexpr ", type, " ", it->second, "[] = {", text, "};\n");
  return str_cat("std::span<const ", type, ">(", it->second, ")");
}

std::string Constants::op(const std::string& expression) {
  const auto [it, added] = operators_.try_emplace(expression, str_cat("op", operators_.size()));
  if (added) text_ += str_cat("inline constexpr auto ", it->second, " = ", expression, ";\n");
  return it->second;
}

std::string Constants::text() const {
  std::string text;
  // One literal of bytes, because compilers read its characters many times faster than a list of numbers.
  if (!bytes_.empty()) {
    constexpr std::size_t line = 128;
    text +=
        "// The bytes of constant tensors, as kernels read them.\nalignas(64) inline constexpr char words[] "
        "=";
    for (std::size_t k = 0; k < bytes_.size(); k += line)
      text += str_cat("\n    ", c_text(std::string_view(bytes_).substr(k, line)));
    text += ";\n";
  }
  return text + text_;
}

}  // namespace tenon::TENON_ABI::emission
