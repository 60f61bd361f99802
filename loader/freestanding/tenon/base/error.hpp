// Errors of a freestanding program consist of a code.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "tenon/base/fail.hpp"
#include "tenon/base/standin.hpp"

namespace tenon::TENON_ABI {

[[noreturn]] inline void raise(ErrorCode code) { fail(code); }
[[noreturn]] inline void raise_bad_alloc() { fail(ErrorCode::out_of_memory); }

}  // namespace tenon::TENON_ABI

// Calls state a place and a message too. A macro drops both, so that they are not even compiled: without a
// heap no message can be made.
#define raise(code, ...) raise(code)
