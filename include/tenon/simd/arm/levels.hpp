// The levels of 64-bit Arm: NEON, which every processor has.
#pragma once

#include "tenon/base/abi.hpp"

#if defined(TENON_AARCH64)
#define TENON_LEVELS(LEVEL, FEATURE) LEVEL(Baseline, baseline, 32, 16, )

namespace tenon::TENON_ABI::simd::detail {

// Levels that have an instruction set. The greatest of the overloads for them is the best match.
template <class Arch>
concept HasNeon = Arch::register_bytes >= 16;

}  // namespace tenon::TENON_ABI::simd::detail

#endif
