#include "loader/draw/header_comment.hpp"

#include <algorithm>

namespace tenon::TENON_ABI::loader {
namespace {

[[gnu::cold]] std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

[[gnu::cold]] void append_line(std::string& comment, std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (!comment.empty() && !line.empty()) comment += ' ';
  comment += line;
}

// Whether a word stands at the start of `text`, with something after it that does not continue the word.
bool starts_with_word(std::string_view text, std::string_view word) {
  return text.starts_with(word) && text.find_first_of(" ={;:", word.size()) == word.size();
}

// Reads declarations at the start of a line, which members and nested structs are not.
[[gnu::cold]] CommentedStruct find_struct_in(std::string_view text, std::string_view name) {
  constexpr std::string_view comment_mark = "///";
  CommentedStruct found;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.starts_with(comment_mark)) {
      append_line(found.comment, line.substr(comment_mark.size()));
      continue;
    }
    for (const std::string_view kind : {"struct ", "using "}) {
      if (!line.starts_with(kind) || !starts_with_word(line.substr(kind.size()), name)) continue;
      const std::string_view rest = line.substr(kind.size() + name.size());
      if (rest == ";") continue;  // a mere declaration
      found.text = {rest.data(), static_cast<std::size_t>(text.data() + text.size() - rest.data())};
      return found;
    }
    if (!line.starts_with("template") && !line.starts_with("  requires")) found.comment.clear();
  }
  return {};
}

}  // namespace

[[gnu::cold]] std::string CommentedStruct::comment_of(std::string_view member) const {
  constexpr std::string_view mark = "///<";
  std::string_view rest = text;
  while (!rest.empty() && !rest.starts_with("};")) {
    const std::string_view line = take_line(rest);
    const std::size_t at = line.find(mark), name = line.find(' ' + std::string(member));
    if (at == line.npos || name > at || !starts_with_word(line.substr(name + 1), member)) continue;
    std::string comment;
    append_line(comment, line.substr(at + mark.size()));
    for (std::size_t first;
         rest.substr(first = std::min(rest.find_first_not_of(' '), rest.size())).starts_with(mark);)
      append_line(comment, take_line(rest).substr(first + mark.size()));
    return comment;
  }
  return "";
}

[[gnu::cold]] CommentedStruct find_struct(std::span<const HeaderText> headers, std::string_view path,
                                          std::string_view name) {
  const auto header = std::ranges::find(headers, path, &HeaderText::path);
  if (header == headers.end()) return {};
  CommentedStruct found = find_struct_in(header->text, name);
  if (!found.text.starts_with(" = ")) return found;
  const std::string_view family = found.text.substr(3, found.text.find_first_of("<;") - 3);
  found.text = {};
  for (const HeaderText& h : headers) {
    if (!found.text.empty() || !h.path.starts_with("tenon/op/families/")) continue;
    const CommentedStruct shared = find_struct_in(h.text, family);
    found.text = shared.text;
    if (found.comment.empty()) found.comment = shared.comment;
  }
  return found;
}

}  // namespace tenon::TENON_ABI::loader
