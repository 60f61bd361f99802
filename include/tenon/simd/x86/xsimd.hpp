// What precedes xsimd on x86: the compiler's intrinsics for the instructions that it may use, and xsimd's
// choice of instructions.
#pragma once

#include "tenon/base/target.hpp"

#if defined(TENON_X86_64)

#include <xsimd/config/xsimd_config.hpp>

#if defined(__AVX2__)
#include <immintrin.h>
#else
#include <emmintrin.h>
#endif

// Version 13 refuses AVX-512 DQ and BW without CD, which the level avx512 does not include. No version uses
// an instruction of CD.
#if XSIMD_VERSION_MAJOR > 10 && XSIMD_WITH_AVX512DQ && !XSIMD_WITH_AVX512CD
#undef XSIMD_WITH_AVX512CD
#define XSIMD_WITH_AVX512CD 1
#endif

#endif
