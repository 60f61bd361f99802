// The level of WebAssembly. Relaxed SIMD, where the compiler may use it, is no level of its own: it changes
// how products are rounded and no layout.
#pragma once

#include "tenon/base/abi.hpp"

#if defined(TENON_WASM)
#define TENON_LEVELS(LEVEL, FEATURE) LEVEL(Baseline, baseline, 32, 16, )
#endif
