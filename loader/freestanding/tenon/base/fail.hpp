// Where every error of a freestanding program ends.
#pragma once

#include "tenon/base/error_code.hpp"

namespace tenon::TENON_ABI {

/// Ends the program. Where the user defines the macro TENON_ABORT, it is run in place of that: it sees
/// `code`, and does not return.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail([[maybe_unused]] ErrorCode code) {
#ifdef TENON_ABORT
  TENON_ABORT();
#endif
  __builtin_trap();
}

}  // namespace tenon::TENON_ABI
