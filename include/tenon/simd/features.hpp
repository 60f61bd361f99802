// Instructions that some processors have in addition to their level's. Kernels use them if available.
#pragma once

#include <atomic>
#include <cstdlib>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::simd {

/// Whether kernels with registers of `register_bytes` bytes, 64 or 32, may multiply bytes by AVX-512 VNNI or
/// AVX-VNNI, which some processors of the levels avx512 and avx2 lack. TENON_VNNI=0 disables it. Read once.
template <int register_bytes>
inline bool vnni() {
#if defined(__x86_64__)
  static const bool use = [] {
    const char* const request = std::getenv("TENON_VNNI");
    if (request != nullptr && std::string_view(request) == "0") return false;
    if (register_bytes == 64) return __builtin_cpu_supports("avx512vnni") != 0;
    unsigned a = 0, b, c, d;  // not every compiler knows the name avxvnni
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;
  }();
  return use;
#else
  return false;
#endif
}

/// Whether kernels with registers of 64 bytes may pick bytes by AVX-512 VBMI, which some processors of the
/// level avx512 lack.
inline bool vbmi() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vbmi") != 0;
#else
  return false;
#endif
}

/// Whether the processor executes operations on registers of 64 bytes in halves, in the time of two of 32
/// bytes: AMD's family 19h.
inline bool halves_registers() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amdfam19h") != 0;
#else
  return false;
#endif
}

/// Whether the processor accesses arrays in memory best without hints, where others gain from prefetching and
/// from stores that bypass the caches: AMD's with AVX-512 after family 19h.
inline bool prefetches_enough() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd") != 0 && __builtin_cpu_supports("avx512f") != 0 && !halves_registers();
#else
  return false;
#endif
}

/// Whether tile registers (tiles.hpp) may be used: the processor has them, and the system grants them to this
/// process, which has to ask. TENON_AMX=0 disables them. Read once.
inline bool amx() {
#if defined(__x86_64__) && defined(__linux__)
  // A static with a dynamic initialiser would need a lock, which programs without exceptions do not link.
  // Threads that ask at the same time get the same answer.
  static std::atomic<signed char> known{-1};
  signed char use = known.load(std::memory_order_relaxed);
  if (use < 0) {
    constexpr int request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    const char* const request = std::getenv("TENON_AMX");
    use = (request == nullptr || std::string_view(request) != "0") && __builtin_cpu_supports("amx-tile") &&
          __builtin_cpu_supports("amx-int8") && __builtin_cpu_supports("amx-bf16") &&
          syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
    known.store(use, std::memory_order_relaxed);
  }
  return use != 0;
#else
  return false;
#endif
}

}  // namespace tenon::TENON_ABI::simd
