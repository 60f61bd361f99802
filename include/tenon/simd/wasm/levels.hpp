// The level of WebAssembly. Engines on x86-64 give a program 16 vector registers, on Arm 32: tiles for 32
// would not stay in registers on the former. Relaxed SIMD, where the compiler may use it, is no level of its
// own: it changes how products are rounded, and no layout.
#pragma once

#include "tenon/base/abi.hpp"

#if defined(TENON_WASM)
#define TENON_LEVELS(LEVEL, FEATURE) LEVEL(Baseline, baseline, 16, 16, )
#endif
