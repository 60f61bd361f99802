// Texts that regular expressions cut strings into.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/tensor/view.hpp"

namespace tenon::TENON_ABI {

/// Which parts of strings are tokens.
struct RegexTokens {
  std::span<const std::string> separators{};  ///< cut at matches, each what those before it left
  std::string_view expression{};              ///< without separators: its matches
  int64_t shortest = 1;                       ///< in code points; shorter texts are left out

  /// For each string of x, the texts in it, as views. Of the matches at a place, the longest counts. After an
  /// empty match the search continues after the next code point, as in ONNX Runtime. Error{invalid_argument}
  /// by the name of an operator for an invalid expression, and for text that is not UTF-8. Defined by
  /// //loader:text, which links RE2; for header-only use by //loader:text_header_only.
  std::vector<std::vector<std::string_view>> of(TensorView<const std::string> x, std::string_view name) const;
};

}  // namespace tenon::TENON_ABI
