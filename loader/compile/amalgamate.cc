#include "loader/compile/amalgamate.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "loader/compile/cpp_text.hpp"
#include "loader/compile/freestanding_text.hpp"
#include "tenon/base/error.hpp"
#include "tenon/base/version.hpp"

namespace tenon::TENON_ABI {

using namespace amalgamation;

namespace {

// Macros that choose between linked and header-only kernels. None of them is defined here.
constexpr std::string_view undefined_macros[] = {"TENON_COMPILED", "TENON_COMPILED_SESSION",
                                                 "TENON_INSTANTIATE"};

// A macro that the user may define.
constexpr std::string_view user_macro = "TENON_ABORT";

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
  if (std::ranges::find(undefined_macros, asked) == std::end(undefined_macros)) return Truth::open;
  return negated ? Truth::always : Truth::never;
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
    std::string found = named[0] == '"' ? find(path_from(from, path)) : std::string();
    if (found.empty()) found = find(path);
    if (!found.empty()) return add(found);
    if (options_.freestanding && from.find("tenon/") != from.npos && has_standin(path))
      return add(find("tenon/base/standin.hpp"));
    if (place().empty() && named[0] == '<') standard_.insert(std::string(path));
    else print(line);
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

}  // namespace

std::string amalgamate(std::span<const HeaderText> files, std::span<const std::string> headers,
                       const Amalgamation& options) {
  return Amalgamator(files, options).write(headers);
}

}  // namespace tenon::TENON_ABI
