// The end of every error in a freestanding program.
#pragma once

#include "tenon/base/error_code.hpp"

namespace tenon::TENON_ABI {

/// Ends the program. If the user defines the macro TENON_ABORT, that runs instead: it sees `code`, and must
/// not return.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail([[maybe_unused]] ErrorCode code) {
#ifdef TENON_ABORT
  TENON_ABORT();
#endif
  __builtin_trap();
}

}  // namespace tenon::TENON_ABI
