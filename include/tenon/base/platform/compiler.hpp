// What compilers spell differently. Attributes that only help optimisation or binding ([[gnu::cold]],
// [[gnu::visibility]]) are written as they are: compilers without them ignore them.
#pragma once

#include "tenon/base/version.hpp"

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#define TENON_ALWAYS_INLINE [[msvc::forceinline]]
#define TENON_NOINLINE [[msvc::noinline]]
#else
#define TENON_ALWAYS_INLINE [[gnu::always_inline]]
#define TENON_NOINLINE [[gnu::noinline]]
#endif

namespace tenon::TENON_ABI::detail {

/// Tells the processor that the thread waits for a value to change; nothing if it has no such instruction.
inline void spin_pause() {
#if defined(_MSC_VER) && !defined(__clang__)
#if defined(_M_X64) || defined(_M_IX86)
  _mm_pause();
#elif defined(_M_ARM64)
  __yield();
#endif
#elif defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Fetches the cache line at `at`, which need not be readable, to be written if `Write`: into all levels if
/// `Locality` is 3, into the second and above if it is 2. Nothing where the compiler cannot say it.
template <bool Write = false, int Locality = 3>
TENON_ALWAYS_INLINE inline void prefetch([[maybe_unused]] const void* at) {
  static_assert(Locality == 2 || Locality == 3);
#if defined(__GNUC__)
  __builtin_prefetch(at, Write, Locality);
#elif defined(_M_X64) || defined(_M_IX86)
  _mm_prefetch(static_cast<const char*>(at), Locality == 3 ? _MM_HINT_T0 : _MM_HINT_T1);
#elif defined(_M_ARM64)
  __prefetch(at);
#endif
}

}  // namespace tenon::TENON_ABI::detail
