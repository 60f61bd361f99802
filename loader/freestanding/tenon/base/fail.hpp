// Where every error of a freestanding program ends.
#pragma once

#include "tenon/base/version.hpp"

namespace tenon {

enum class ErrorCode {
  invalid_argument,
  invalid_type,
  invalid_shape,
  invalid_model,
  not_supported,
  out_of_range,
  out_of_memory,
  io,
  limit,
  cancelled,
};

/// Ends the program, or does what the macro TENON_ABORT of the user's does, which does not return and sees
/// `code`.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail([[maybe_unused]] ErrorCode code) {
#ifdef TENON_ABORT
  TENON_ABORT();
#endif
  __builtin_trap();
}

}  // namespace tenon
