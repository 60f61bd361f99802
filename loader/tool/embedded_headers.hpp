// The headers that the tool has in itself: all of Tenon, xsimd, and stand-ins for freestanding programs.
#pragma once

#include <string>
#include <vector>

#include "loader/amalgamate.hpp"

namespace tenon::TENON_ABI::tool {

/// Sorted by path. The definition is written by loader/bazel/embed.cc.
std::span<const HeaderText> embedded_headers();

/// A header in a written definition: its path, and the number of bytes of its text.
struct EmbeddedHeader {
  const char* path;
  size_t size;
};

/// The texts of a written definition, where they lie deflated in the order of the headers.
class EmbeddedTexts {
 public:
  EmbeddedTexts(std::span<const EmbeddedHeader> headers, std::string_view deflated);
  EmbeddedTexts(const EmbeddedTexts&) = delete;
  EmbeddedTexts& operator=(const EmbeddedTexts&) = delete;

  std::span<const HeaderText> headers() const { return headers_; }

 private:
  std::string texts_;
  std::vector<HeaderText> headers_;
};

}  // namespace tenon::TENON_ABI::tool
