// Features of x86 processors beyond their levels: VNNI, VBMI and AMX.
#pragma once

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "tenon/simd/arch.hpp"
#include "tenon/simd/x86/cpuid.hpp"
#include "tenon/simd/x86/levels.hpp"

#if defined(TENON_X86_64)

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
    return detail::holds(register_bytes == 64 ? detail::Fact::avx512vnni : detail::Fact::avx_vnni);
  }();
  return use;
}

/// Whether tile registers may be used: the processor has them, and the system grants them to this process,
/// which has to ask. TENON_AMX=0 disables them. Read once.
inline bool amx() {
#if defined(__linux__)
  static std::atomic<signed char> known{-1};  // as in detail::holds
  signed char use = known.load(std::memory_order_relaxed);
  if (use < 0) {
    constexpr int request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    const char* const request = std::getenv("TENON_AMX");
    // The system grants the registers only if it supports them.
    use = (request == nullptr || std::string_view(request) != "0") && detail::holds(detail::Fact::amx) &&
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
  return scoped_level() == nullptr && detail::holds(detail::Fact::avx512vbmi);
}

// Every processor with AMX has AVX-512.
template <detail::AtAvx512 Arch>
inline bool has_tiles() {
  return scoped_level() == nullptr && amx();
}

inline bool halves_registers() { return detail::holds(detail::Fact::amd_19h); }

// AMD's with AVX-512 after family 19h.
inline bool prefetches_enough() {
  return detail::holds(detail::Fact::amd) && detail::holds(detail::Fact::avx512f) && !halves_registers();
}

}  // namespace tenon::TENON_ABI::simd

#endif
