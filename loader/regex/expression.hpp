// Expressions of RE2, and checks of texts that all functions of expressions share.
#pragma once

#include <re2/re2.h>

#include <limits>
#include <memory>
#include <string_view>

#include "tenon/base/error.hpp"
#include "tenon/base/utf8.hpp"

namespace tenon::TENON_ABI::regex {

/// Error{invalid_argument}, by the name of an operator, if a text is too long for RE2, which counts in int.
inline void check_length(std::string_view op, std::string_view text) {
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    raise(ErrorCode::invalid_argument, op, "text of ", text.size(), " bytes");
}

/// The same for element k of an input, which has to be UTF-8.
inline void check_element(std::string_view op, int64_t k, std::string_view text) {
  check_length(op, text);
  if (!tenon::detail::is_utf8(text)) raise(ErrorCode::invalid_argument, op, "element ", k, " is not UTF-8");
}

/// Error{invalid_argument} if it is invalid; `kind` is what the message calls it.
inline std::unique_ptr<const re2::RE2> compile(std::string_view op, std::string_view kind,
                                               std::string_view text, bool longest_match) {
  check_length(op, text);
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_longest_match(longest_match);
  auto made = std::make_unique<re2::RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (!made->ok()) raise(ErrorCode::invalid_argument, op, kind, " '", text, "': ", made->error());
  return made;
}

}  // namespace tenon::TENON_ABI::regex
