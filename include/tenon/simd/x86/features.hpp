// Features of x86 processors beyond their levels: VNNI, VBMI and AMX.
#pragma once

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "tenon/simd/arch.hpp"
#include "tenon/simd/x86/levels.hpp"

#if defined(TENON_X86_64)

#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tenon::TENON_ABI::simd {

/// Whether kernels with registers of `register_bytes` bytes, 64 or 32, may multiply bytes by AVX-512 VNNI or
/// AVX-VNNI, which some processors of the levels avx512 and avx2 lack. TENON_VNNI=0 disables it. Read once.
template <int register_bytes>
inline bool vnni() {
  static const bool use = [] {
    const char* const request = std::getenv("TENON_VNNI");
    if (request != nullptr && std::string_view(request) == "0") return false;
    if (register_bytes == 64) return __builtin_cpu_supports("avx512vnni") != 0;
    unsigned a = 0, b, c, d;  // not every compiler knows the name avxvnni
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;
  }();
  return use;
}

/// Whether tile registers may be used: the processor has them, and the system grants them to this process,
/// which has to ask. TENON_AMX=0 disables them. Read once.
inline bool amx() {
#if defined(__linux__)
  // A static with a dynamic initialiser would need a lock, which programs without exceptions do not link.
  // Threads that ask at the same time get the same answer.
  static std::atomic<signed char> known{-1};
  signed char use = known.load(std::memory_order_relaxed);
  if (use < 0) {
    constexpr int request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    const char* const request = std::getenv("TENON_AMX");
    // clang before 19 does not know the names of amx-bf16, amx-tile and amx-int8. The system grants the
    // registers only if it supports them.
    unsigned a, b, c, d;
    constexpr unsigned bits = 1u << 22 | 1u << 24 | 1u << 25;
    use = (request == nullptr || std::string_view(request) != "0") &&
          __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & bits) == bits &&
          syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
    known.store(use, std::memory_order_relaxed);
  }
  return use != 0;
#else
  return false;
#endif
}

template <detail::HasAvx2 Arch>
inline bool has_dot_bytes() {
  return scoped_level() == nullptr && vnni<Arch::register_bytes>();
}

// VBMI, which some processors of the level avx512 lack.
template <detail::AtAvx512 Arch>
inline bool has_byte_tables() {
  return __builtin_cpu_supports("avx512vbmi") != 0;
}

// Every processor with AMX has AVX-512.
template <detail::AtAvx512 Arch>
inline bool has_tiles() {
  return scoped_level() == nullptr && amx();
}

// AMD's family 19h.
inline bool halves_registers() { return __builtin_cpu_is("amdfam19h") != 0; }

// AMD's with AVX-512 after family 19h.
inline bool prefetches_enough() {
  return __builtin_cpu_is("amd") != 0 && __builtin_cpu_supports("avx512f") != 0 && !halves_registers();
}

}  // namespace tenon::TENON_ABI::simd

#endif
