// Tenon's exception type.
#pragma once

#include "tenon/base/error_code.hpp"

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tenon::TENON_ABI {

constexpr std::string_view name_of(ErrorCode code) {
  constexpr std::string_view names[] = {
      "invalid argument", "invalid type",  "invalid shape", "invalid model", "not supported",
      "out of range",     "out of memory", "input/output",  "limit",         "cancelled"};
  return names[static_cast<int>(code)];
}

/// An error of the caller or in a file: its kind, its place (operator, node, file), and a description.
class TENON_PROCESS_WIDE Error : public std::exception {
 public:
  [[gnu::cold]] Error(ErrorCode code, std::string where, std::string message)
      : code_(code), where_(std::move(where)), message_(std::move(message)) {
    what_ = where_.empty() ? message_ : where_ + ": " + message_;
  }

  ErrorCode code() const noexcept { return code_; }
  const std::string& where() const noexcept { return where_; }
  const std::string& message() const noexcept { return message_; }
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  ErrorCode code_;
  std::string where_, message_, what_;
};

namespace detail {
inline void append(std::string& text, std::string_view part) { text += part; }
inline void append(std::string& text, char part) { text += part; }
template <class N>
  requires std::is_integral_v<N>
[[gnu::cold]] void append(std::string& text, N part) {
  text += std::to_string(part);
}
// std::to_string writes the locale's decimal point.
template <class F>
  requires std::is_floating_point_v<F>
void append(std::string& text, F part) = delete;
}  // namespace detail

/// Joins strings and integers for messages: str_cat("rank ", 3, " of '", name, "'"). Pass a float as
/// convert<std::string>(x).
template <class... Parts>
[[gnu::cold]] std::string str_cat(const Parts&... parts) {
  std::string text;
  (detail::append(text, parts), ...);
  return text;
}

}  // namespace tenon::TENON_ABI
