// Tenon's version, and the compilers that it supports. The headers on which all others depend include this
// one first.
#pragma once

// g++ has __builtin_shufflevector since 12; clang has what Tenon needs of C++20 since 16. Apple's clang has
// version numbers of its own: 16 is made from clang 17.
#if defined(__apple_build_version__)
#if __clang_major__ < 16
#error Tenon needs Xcode 16 or later.
#include <nothing, which ends the compilation here>
#endif
#elif defined(__clang__)
#if __clang_major__ < 16
#error Tenon needs clang 16 or later.
#include <nothing, which ends the compilation here>
#endif
#elif defined(__GNUC__)
#if __GNUC__ < 12
#error Tenon needs g++ 12 or later.
#include <nothing, which ends the compilation here>
#endif
#elif defined(_MSC_VER)
#if _MSC_VER < 1938 || _MSVC_TRADITIONAL
#error Tenon needs Visual Studio 2022 17.8 or later, and the option /Zc:preprocessor.
#include <nothing, which ends the compilation here>
#endif
#else
#error Tenon needs g++, clang or Visual C++.
#include <nothing, which ends the compilation here>
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error Tenon reads and packs elements as little-endian processors store them: this one is big-endian.
#include <nothing, which ends the compilation here>
#endif

#if defined(__i386__) && defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ == 2
#error Tenon computes with exact rounding, which x87 registers do not have: compile with -msse2 -mfpmath=sse.
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
