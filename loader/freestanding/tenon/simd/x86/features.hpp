// Instructions that some x86 processors of a level have in addition to the level's, in a compiled model. Its
// constants are laid out for them; loader/compile/assemble.cc states which.
#pragma once

#include <atomic>

#include "tenon/simd/x86/levels.hpp"

#if defined(TENON_X86_64)

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tenon::TENON_ABI::simd {

/// The first call requests the registers from the system.
inline bool amx() {
#if TENON_USES_AMX
  static std::atomic<bool> asked{false};
  if (!asked.load(std::memory_order_relaxed)) {
    constexpr int request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    syscall(SYS_arch_prctl, request_permission, tile_data);
    asked.store(true, std::memory_order_relaxed);
  }
#endif
  return TENON_USES_AMX;
}

template <detail::HasAvx2 Arch>
constexpr bool has_dot_bytes() {
  return TENON_USES_VNNI;
}

template <detail::AtAvx512 Arch>
inline bool has_tiles() {
  return amx();
}

}  // namespace tenon::TENON_ABI::simd

#endif
