// The end of every error in a freestanding program.
#pragma once

#include "tenon/base/error_code.hpp"

namespace tenon::TENON_ABI {

/// Ends the program. If the user defines the macro TENON_ABORT, that runs instead: it sees `code` and `text`,
/// a const char*, and must not return. The text is the code's name.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail([[maybe_unused]] ErrorCode code) {
#ifdef TENON_ABORT
  [[maybe_unused]] const char* const text = name_of(code).data();
  TENON_ABORT();
#endif
  __builtin_trap();
}

}  // namespace tenon::TENON_ABI
