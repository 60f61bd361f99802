// What compilers spell differently. TENON_INLINE_LAMBDA is TENON_ALWAYS_INLINE for a lambda and follows its
// parameters. TENON_LIFETIME_BOUND follows the parameters of a member function whose result is valid only as
// long as the object is, so that compilers other than g++ warn of a view of a temporary one. Attributes that
// only help optimisation or binding ([[gnu::cold]], [[gnu::visibility]]) are written as they are: compilers
// without them ignore them. TENON_VISUAL_CPP tells Visual C++ from clang, which accepts what g++ does on
// Windows too.
#pragma once

#include "tenon/base/target.hpp"
#include "tenon/base/version.hpp"

#if defined(_MSC_VER) && !defined(__clang__)
#define TENON_VISUAL_CPP
#endif

#if defined(TENON_VISUAL_CPP)
#include <intrin.h>
#define TENON_ALWAYS_INLINE [[msvc::forceinline]]
#define TENON_NOINLINE [[msvc::noinline]]
#define TENON_INLINE_LAMBDA [[msvc::forceinline]]
#define TENON_LIFETIME_BOUND [[msvc::lifetimebound]]
#else
#define TENON_ALWAYS_INLINE [[gnu::always_inline]]
#define TENON_NOINLINE [[gnu::noinline]]
#define TENON_INLINE_LAMBDA __attribute__((always_inline))
#if defined(__clang__)
#define TENON_LIFETIME_BOUND [[clang::lifetimebound]]
#else
#define TENON_LIFETIME_BOUND
#endif
#endif

namespace tenon::TENON_ABI::detail {

/// Tells the processor that the thread waits for a value to change; nothing if it has no such instruction.
inline void spin_pause() {
#if defined(TENON_X86_64) && defined(TENON_VISUAL_CPP)
  _mm_pause();
#elif defined(TENON_X86_64)
  __builtin_ia32_pause();
#elif defined(TENON_AARCH64) && defined(TENON_VISUAL_CPP)
  __yield();
#elif defined(TENON_AARCH64)
  asm volatile("yield");
#endif
}

/// The compiler moves no access to memory across it.
TENON_ALWAYS_INLINE inline void keep_memory_order() {
#if defined(TENON_VISUAL_CPP)
  _ReadWriteBarrier();
#else
  asm volatile("" ::: "memory");
#endif
}

/// Where the program never arrives.
[[noreturn]] TENON_ALWAYS_INLINE inline void unreachable() {
#if defined(TENON_VISUAL_CPP)
  __assume(false);
#else
  __builtin_unreachable();
#endif
}

}  // namespace tenon::TENON_ABI::detail

// TENON_PREFETCH(at, to_write, locality) fetches the cache line at `at`, which need not be readable, to be
// written if to_write is 1: into all levels if locality is 3, into the second and above if it is 2. A macro,
// because g++ allocates registers differently around an inline function. Nothing where the compiler cannot
// say it.
#if !defined(TENON_VISUAL_CPP)
#define TENON_PREFETCH(at, to_write, locality) __builtin_prefetch(at, to_write, locality)
#elif defined(TENON_X86_64)
#define TENON_PREFETCH(at, to_write, locality) \
  _mm_prefetch(reinterpret_cast<const char*>(at), (locality) == 3 ? _MM_HINT_T0 : _MM_HINT_T1)
#elif defined(TENON_AARCH64)
#define TENON_PREFETCH(at, to_write, locality) __prefetch(at)
#else
#define TENON_PREFETCH(at, to_write, locality) static_cast<void>(at)
#endif
