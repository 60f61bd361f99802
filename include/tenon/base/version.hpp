// Tenon's version, and the compilers that it supports. The headers on which all others depend include this
// one first.
#pragma once

// g++ has __builtin_shufflevector since 12; clang passes operator delete a size by default since 19.
#if defined(__clang__) ? __clang_major__ < 19 : __GNUC__ < 12
#error Tenon needs g++ 12 or clang 19, or later.
#include <nothing, which ends the compilation here>
#endif

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error Tenon computes with NaN, infinities and exact rounding: compile without -ffast-math and -ffinite-math-only.
#include <nothing, which ends the compilation here>
#endif

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI {

#define TENON_VERSION_TEXT(x) #x
#define TENON_VERSION_TEXTS(x, y, z) TENON_VERSION_TEXT(x) "." TENON_VERSION_TEXT(y) "." TENON_VERSION_TEXT(z)
inline constexpr const char* library_version =
    TENON_VERSION_TEXTS(TENON_VERSION_MAJOR, TENON_VERSION_MINOR, TENON_VERSION_PATCH);
#undef TENON_VERSION_TEXTS
#undef TENON_VERSION_TEXT

}  // namespace tenon::TENON_ABI
