// The level of families without a folder of their own.
#pragma once

#include "tenon/base/abi.hpp"

#if defined(TENON_GENERIC)
#define TENON_LEVELS(LEVEL, FEATURE) LEVEL(Baseline, baseline, 32, 16, )
#endif
