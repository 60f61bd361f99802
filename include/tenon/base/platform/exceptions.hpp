// Catching, for programs with and without exceptions. Without them (-fno-exceptions) an error ends the
// program (base/error.hpp): the functions called here always return, and handlers are never called.
#pragma once

#include <exception>
#include <type_traits>

#include "tenon/base/version.hpp"

namespace tenon::TENON_ABI::detail {

/// Calls f(). The exception that it ends in, else null.
template <class F>
std::exception_ptr caught(F&& f) {
#ifdef TENON_HAS_EXCEPTIONS
  try {
    f();
  } catch (...) {
    return std::current_exception();
  }
#else
  f();
#endif
  return nullptr;
}

/// f(), or handled(e) if it ends in an exception e of type E. Where f gives a result, `handled` must give one
/// too or not return.
template <class E, class F, class H>
std::invoke_result_t<F&> attempt(F&& f, H&& handled) {
#ifdef TENON_HAS_EXCEPTIONS
  try {
    return f();
  } catch (const E& e) {
    using Result = std::invoke_result_t<F&>;
    if constexpr (std::is_void_v<Result> || !std::is_void_v<std::invoke_result_t<H&, const E&>>) {
      return handled(e);
    } else {
      handled(e);
      std::terminate();
    }
  }
#else
  static_cast<void>(handled);
  return f();
#endif
}

}  // namespace tenon::TENON_ABI::detail
