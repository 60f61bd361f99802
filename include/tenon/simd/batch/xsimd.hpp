// xsimd, and the compiler's intrinsics for the processor family: no other header includes them.
#pragma once

// GCC 12's AVX-512 intrinsics read variables that they leave uninitialised on purpose, and warn when inlined.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <xsimd/xsimd.hpp>

#include "tenon/simd/x86/intrinsics.hpp"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
