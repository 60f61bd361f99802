#include "loader/compile/amalgamate.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "tenon/base/error.hpp"
#include "tenon/base/version.hpp"

namespace tenon::TENON_ABI {
namespace {

// ---- tokens ----------------------------------------------------------------------------------------------

char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_letter(char c) { return (lower_case(c) >= 'a' && lower_case(c) <= 'z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

enum class Part { word, number, literal, comment, other };
struct Token {
  Part part;
  std::size_t end;
};

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

// The token at a position: a word, a number, a literal, a comment without its line end, or one character.
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

// The position of the bracket that closes one opened before `at`.
std::size_t closing_bracket(std::string_view text, std::size_t at) {
  for (int depth = 0; at < text.size();) {
    const char c = text[at];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth-- == 0) return at;
    at = token_at(text, at).end;
  }
  return text.size();
}

// ---- one header's text -----------------------------------------------------------------------------------

// The text without comments and empty lines. Comments that document declarations stay if requested.
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

// ---- freestanding ----------------------------------------------------------------------------------------

// Headers of the standard library whose place tenon/base/standin.hpp takes.
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

// The text with functions that choose among kernels inlined. The attribute stands here, because in a session,
// whose calls do not state the numbers, it would only make code larger.
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

// ---- all headers -----------------------------------------------------------------------------------------

// Macros that choose between linked and header-only kernels. None of them is defined here.
constexpr std::string_view undefined_macros[] = {"TENON_COMPILED", "TENON_COMPILED_SESSION",
                                                 "TENON_INSTANTIATE"};

// A macro that the user may define.
constexpr std::string_view user_macro = "TENON_ABORT";

// A preprocessor line.
struct Directive {
  std::string_view name, rest;
};
Directive directive_of(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with('#')) return {};
  line = trimmed(line.substr(1));
  std::size_t end = 0;
  while (end < line.size() && is_letter(line[end])) ++end;
  return {line.substr(0, end), trimmed(line.substr(end))};
}

// The value of an #if whose condition consists of undefined_macros alone.
enum class Truth { open, never, always };
Truth truth_of(const Directive& d) {
  std::string_view asked = d.rest;
  bool negated = d.name == "ifndef";
  if (d.name == "if" || d.name == "elif") {
    if (asked.starts_with('!')) negated = true, asked = trimmed(asked.substr(1));
    if (!asked.starts_with("defined")) return Truth::open;
    asked = trimmed(asked.substr(7));
    if (asked.starts_with('(') && asked.ends_with(')')) asked = trimmed(asked.substr(1, asked.size() - 2));
  }
  if (!is_among(asked, undefined_macros)) return Truth::open;
  return negated ? Truth::always : Truth::never;
}

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? std::string_view() : path.substr(0, slash);
}

// folder/path with "." and ".." resolved.
std::string joined(std::string_view folder, std::string_view path) {
  std::vector<std::string_view> steps;
  for (std::string_view rest : {folder, path}) {
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

class Amalgamator {
 public:
  Amalgamator(std::span<const HeaderText> files, const Amalgamation& options) : options_(options) {
    for (const HeaderText& f : files) files_.emplace(f.path, f.text);
  }

  std::string write(std::span<const std::string> headers) {
    if (options_.freestanding) {
      macros_.insert("TENON_ELEMENT_TYPES");
      print(element_types());
    }
    for (const std::string& h : headers) {
      if (find(h).empty())
        throw Error(ErrorCode::invalid_argument, "amalgamate", str_cat("there is no header ", h));
      add(find(h));
    }
    std::string text = notice();
    // Warnings from the user's flags were dealt with in the original headers.
    text += "#pragma GCC system_header\n";
    if (options_.enclosing.empty())
      text +=
          "#ifdef TENON_COMPILED\n#error This header has the kernels' bodies: compile without "
          "TENON_COMPILED\n#endif\n";
    for (const std::string& s : standard_) text += str_cat("#include <", s, ">\n");
    text += options_.enclosing.empty() ? body_ : enclosed(body_);
    for (const std::string& m : macros_)
      if (!options_.enclosing.empty() || !(m.starts_with("TENON_") || m.starts_with("XSIMD_")))
        text += str_cat("#undef ", renamed(m), "\n");
    return text;
  }

 private:
  // An open #if: undecided ones are printed. `place` tells its branches apart.
  struct Condition {
    Truth truth = Truth::open;  // of the branch
    bool was_true = false;      // of an earlier branch
    bool is_guard = false;
    bool printed = false;
    int place = 0;
  };
  struct Written {
    std::vector<int> place;
    bool is_guarded = false;
  };

  // The path of an existing header, or "".
  std::string find(std::string_view path) const {
    if (options_.freestanding)
      if (const auto f = files_.find(str_cat("freestanding/", path)); f != files_.end())
        return std::string(f->first);
    return files_.contains(path) ? std::string(path) : std::string();
  }

  bool is_live() const {
    return std::ranges::none_of(conditions_, [](const Condition& c) { return c.truth == Truth::never; });
  }
  std::vector<int> place() const {
    std::vector<int> place;
    for (const Condition& c : conditions_)
      if (c.printed && !c.is_guard) place.push_back(c.place);
    return place;
  }

  std::string text_of(std::string_view path) const {
    const bool is_ours = !path.starts_with("xsimd/");
    std::string text = without_comments(files_.find(path)->second, is_ours && options_.enclosing.empty());
    if (!options_.freestanding || path.starts_with("freestanding/")) return text;
    return freestanding_text(text);
  }

  // The element types that base/types.hpp lists, as a macro. There are no strings.
  std::string element_types() const {
    std::string list;
    for (int d = 1; d < dtype_count; ++d) {
      const auto type = static_cast<DType>(d);
      if (type != DType::string && (options_.types.empty() || std::ranges::count(options_.types, type)))
        list += str_cat(list.empty() ? "" : ", ", "cpp_type<static_cast<DType>(", d, ")>");
    }
    return str_cat("#define TENON_ELEMENT_TYPES ", list);
  }

  void add(const std::string& path) {
    if (const auto w = written_.find(path); w != written_.end()) {
      const std::vector<int> here = place();
      const std::vector<int>& there = w->second.place;
      if (there.size() <= here.size() && std::equal(there.begin(), there.end(), here.begin())) return;
      if (!w->second.is_guarded)
        throw Error(ErrorCode::not_supported, path, "is included under two conditions, and has no guard");
    }
    written_[path] = {place(), false};
    const std::string text = text_of(path);
    const std::size_t outer = conditions_.size();
    int directives = 0;
    std::string line;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      line += rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (line.ends_with('\\')) {
        line += '\n';
        continue;
      }
      const Directive d = directive_of(line);
      if (d.name.empty()) {
        if (is_live()) print(line);
      } else {
        handle(path, d, line, directives++, outer, rest);
      }
      line.clear();
    }
    if (conditions_.size() != outer)
      throw Error(ErrorCode::not_supported, path, "has an #if without an #endif");
  }

  void print(std::string_view line) { body_.append(line) += '\n'; }

  void handle(const std::string& path, const Directive& d, std::string_view line, int number,
              std::size_t outer, std::string_view rest) {
    if (d.name == "if" || d.name == "ifdef" || d.name == "ifndef") {
      Condition c;
      c.truth = truth_of(d);
      c.was_true = c.truth == Truth::always;
      c.place = ++places_;
      c.printed = c.truth == Truth::open && is_live();
      const std::size_t next = std::min(rest.find('\n'), rest.size());
      c.is_guard = number == 0 && d.name == "ifndef" && directive_of(rest.substr(0, next)).name == "define";
      if (c.is_guard) {
        written_[path].is_guarded = true;
        guards_[std::string(d.rest)] = path;
      }
      if (c.printed) print(line);
      conditions_.push_back(c);
    } else if (conditions_.size() == outer && (d.name == "elif" || d.name == "else" || d.name == "endif")) {
      throw Error(ErrorCode::not_supported, path, str_cat("has an #", d.name, " without an #if"));
    } else if (d.name == "elif" || d.name == "else") {
      Condition& c = conditions_.back();
      if (c.printed) {
        c.place = ++places_;
        print(line);
      } else if (c.truth != Truth::open) {
        c.truth = c.was_true ? Truth::never : d.name == "else" ? Truth::always : truth_of(d);
        c.was_true |= c.truth == Truth::always;
        if (c.truth == Truth::open)
          throw Error(ErrorCode::not_supported, path, "mixes conditions of the build with others");
      }
    } else if (d.name == "endif") {
      if (conditions_.back().printed) print(line);
      conditions_.pop_back();
    } else if (!is_live() || (d.name == "pragma" && d.rest == "once")) {
      return;
    } else if (d.name == "include") {
      include(path, d.rest, line);
    } else {
      if (d.name == "define") macros_.insert(std::string(word_of(d.rest)));
      // xsimd includes a header twice this way.
      if (d.name == "undef")
        if (const auto g = guards_.find(d.rest); g != guards_.end()) written_.erase(g->second);
      print(line);
    }
  }

  void include(std::string_view from, std::string_view named, std::string_view line) {
    const std::size_t close = named.find_first_of(">\"", 1);
    if (named.size() < 2 || close == named.npos) return print(line);
    const std::string_view path = named.substr(1, close - 1);
    std::string found = named[0] == '"' ? find(joined(folder_of(from), path)) : std::string();
    if (found.empty()) found = find(path);
    if (!found.empty()) return add(found);
    if (options_.freestanding && from.find("tenon/") != from.npos && is_among(path, standin_headers))
      return add(find("tenon/base/standin.hpp"));
    if (place().empty() && named[0] == '<') standard_.insert(std::string(path));
    else print(line);
  }

  static std::string_view word_of(std::string_view text) {
    std::size_t end = 0;
    while (end < text.size() && is_word(text[end])) ++end;
    return text.substr(0, end);
  }

  // A macro's name within options_.enclosing. Macros of other libraries keep their names: xsimd uses them for
  // renaming.
  std::string renamed(std::string_view macro) const {
    const bool ours = macro.starts_with("TENON_") || macro.starts_with("XSIMD_");
    if (!ours || macro == user_macro || options_.enclosing.empty()) return std::string(macro);
    return str_cat(options_.enclosing.substr(0, options_.enclosing.find(':')), "_", macro);
  }

  // The text with namespaces tenon and xsimd nested in the enclosing one.
  std::string enclosed(std::string_view text) const {
    std::string result;
    std::string_view previous;  // token
    bool is_joined = false;     // "::" directly follows a name
    for (std::size_t at = 0; at < text.size();) {
      if (is_blank(text[at])) {
        result += text[at++];
        continue;
      }
      if (text[at] == '#' && directive_of(text.substr(at, text.find('\n', at) - at)).name == "include") {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        result += text.substr(at, end - at);
        at = end;
        continue;
      }
      const Token t = token_at(text, at);
      std::string_view token = text.substr(at, t.end - at);
      if (token == ":" && has(text, at, "::")) token = "::";
      if (t.part == Part::word && (token == "tenon" || token == "xsimd")) {
        const bool is_qualified = has(text, skip_blanks(text, t.end), "::");
        const bool is_member = previous == "::" && is_joined;
        if (previous == "namespace" || (previous == "::" && !is_member))
          result += str_cat(options_.enclosing, "::", token);
        else if (is_qualified && !is_member) result += str_cat("::", options_.enclosing, "::", token);
        else result += token;
      } else {
        result += t.part == Part::word ? renamed(token) : std::string(token);
      }
      if (token == "::") is_joined = at > 0 && (is_word(text[at - 1]) || text[at - 1] == '>');
      previous = token;
      at += token.size();
    }
    return result;
  }

  std::string notice() const {
    std::string text = str_cat("// Tenon ", library_version, ", under the Apache License, Version 2.0:\n",
                               "// http://www.apache.org/licenses/LICENSE-2.0\n");
    const auto f = files_.find("NOTICE");
    if (f == files_.end()) return text;
    text += "//\n";
    for (std::string_view rest = f->second; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      text += str_cat(end == 0 ? "//" : "// ", rest.substr(0, end), "\n");
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return text;
  }

  const Amalgamation& options_;
  std::map<std::string_view, std::string_view, std::less<>> files_;
  std::map<std::string, Written> written_;
  std::map<std::string, std::string, std::less<>> guards_;  // a guard's macro, and its header
  std::vector<Condition> conditions_;
  int places_ = 0;
  std::set<std::string> standard_, macros_;
  std::string body_;
};

// ---- operators -------------------------------------------------------------------------------------------

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = lower_case(c);
  return lower;
}

// The edit distance: the number of letters to be replaced, inserted or removed.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = corner + (a[i - 1] != b[j - 1]);
      corner = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string amalgamate(std::span<const HeaderText> files, std::span<const std::string> headers,
                       const Amalgamation& options) {
  return Amalgamator(files, options).write(headers);
}

std::string operator_header(const Registry& registry, std::string_view name) {
  const OperatorClass* found = nullptr;
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const auto& [key, versions] : registry.operators()) {
    const auto& [domain, op] = key;
    const std::string whole = domain.empty() ? op : str_cat(domain, ".", op);
    const OperatorClass* const newest = versions.rbegin()->second;
    if (registry.source(*newest).header.empty()) continue;
    // ai.onnx comes first among the domains that have an operator of a name.
    if (name == whole || (name == op && found == nullptr)) found = newest;
    const std::string ours = lower_case(op), theirs = lower_case(name);
    const bool within = theirs.size() > 2 && ours.find(theirs) != ours.npos;
    const std::size_t far = within ? ours.size() > theirs.size() : edits(ours, theirs);
    if (far <= std::max<std::size_t>(1, name.size() / 3)) near.emplace_back(far, op);
  }
  if (found != nullptr) {
    if (found->spec->linked)
      throw Error(ErrorCode::not_supported, std::string(name),
                  "this operator needs other libraries, which no header can hold");
    return std::string(registry.source(*found).header);
  }
  std::ranges::sort(near);
  std::string names;
  for (std::size_t k = 0; k < std::min<std::size_t>(near.size(), 5); ++k)
    names += str_cat(k == 0 ? "; near it: " : ", ", near[k].second);
  throw Error(ErrorCode::invalid_argument, std::string(name.substr(0, 80)), str_cat("is no operator", names));
}

}  // namespace tenon::TENON_ABI
