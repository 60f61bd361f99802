// Where every error of a freestanding program ends.
#pragma once

#include "tenon/base/error_code.hpp"

namespace tenon {

/// Ends the program, or does what the macro TENON_ABORT of the user's does, which does not return and sees
/// `code`.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail([[maybe_unused]] ErrorCode code) {
#ifdef TENON_ABORT
  TENON_ABORT();
#endif
  __builtin_trap();
}

}  // namespace tenon
