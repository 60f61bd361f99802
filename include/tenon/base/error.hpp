// Tenon's exception type, and `raise`, in which every error ends.
#pragma once

#include "tenon/base/error_code.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/base/platform/compiler.hpp"

namespace tenon::TENON_ABI {

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

namespace detail {
#ifndef TENON_HAS_EXCEPTIONS
// The end of every error where there are no exceptions. The program's TENON_ABORT, if any, runs first: it
// sees `code` and `text`, and must not return.
[[noreturn, gnu::cold]] TENON_NOINLINE inline void fail([[maybe_unused]] ErrorCode code, const char* text) {
#ifdef TENON_ABORT
  TENON_ABORT();
#endif
  std::fprintf(stderr, "tenon: %s\n", text);
  std::abort();
}
#endif

[[noreturn, gnu::cold]] TENON_NOINLINE inline void raise_text(ErrorCode code, std::string_view where,
                                                              std::string message) {
  Error error(code, std::string(where), std::move(message));
#ifdef TENON_HAS_EXCEPTIONS
  throw error;
#else
  fail(code, error.what());
#endif
}
}  // namespace detail

/// Throws Error(code, where, str_cat(parts...)). Without exceptions (-fno-exceptions) it runs TENON_ABORT(),
/// or prints the error and aborts.
template <class... Parts>
[[noreturn, gnu::cold]] void raise(ErrorCode code, std::string_view where, const Parts&... parts) {
  detail::raise_text(code, where, str_cat(parts...));
}
/// Ends in an Error that was made before.
[[noreturn, gnu::cold]] inline void raise(const Error& error) {
#ifdef TENON_HAS_EXCEPTIONS
  throw error;
#else
  detail::fail(error.code(), error.what());
#endif
}
/// Ends in std::bad_alloc, which needs no memory for a message.
[[noreturn, gnu::cold]] inline void raise_bad_alloc() {
#ifdef TENON_HAS_EXCEPTIONS
  throw std::bad_alloc();
#else
  detail::fail(ErrorCode::out_of_memory, name_of(ErrorCode::out_of_memory).data());
#endif
}

}  // namespace tenon::TENON_ABI
