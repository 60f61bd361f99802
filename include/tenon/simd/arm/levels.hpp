// The levels of 64-bit Arm: NEON, which every processor has.
#pragma once

#include "tenon/base/abi.hpp"

#if defined(TENON_AARCH64)
#define TENON_LEVELS(LEVEL, FEATURE) LEVEL(Baseline, baseline, 32, 16, )
#endif
