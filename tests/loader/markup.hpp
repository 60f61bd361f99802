// Whether a page is well-formed.
#pragma once

#include <cctype>
#include <string>
#include <vector>

#include "tenon/base/error.hpp"

namespace tenon {

/// "" for a page whose tags are known, closed in order, and hold attributes in quotes; else where it is not.
inline std::string ill_formed(const std::string& page) {
  std::vector<std::string> open;
  const auto here = [&](std::size_t at) { return page.substr(at, 80); };
  for (std::size_t at = 0; (at = page.find('<', at)) != std::string::npos;) {
    if (page.compare(at, 9, "<!DOCTYPE") == 0) {
      at = page.find('>', at);
      continue;
    }
    const bool closes = page[at + 1] == '/';
    std::size_t end = at + 1 + closes;
    while (end < page.size() && std::isalnum(static_cast<unsigned char>(page[end]))) ++end;
    const std::string name = page.substr(at + 1 + closes, end - at - 1 - closes);
    if (name.empty()) return here(at);
    bool quoted = false;
    while (end < page.size() && (quoted || page[end] != '>')) {
      quoted ^= page[end] == '"';
      if (!quoted && page[end] == '<') return here(at);
      ++end;
    }
    if (closes) {
      if (open.empty() || open.back() != name) return here(at);
      open.pop_back();
    } else if (name != "meta" && name != "br" && name != "input") {
      open.push_back(name);
      // Scripts and styles end at the first closing tag of their own.
      if (name == "script" || name == "style") end = page.find("</" + name, end) - 1;
    }
    at = end;
  }
  return open.empty() ? "" : str_cat("<", open.back(), "> is not closed");
}

}  // namespace tenon
