// Instructions that some processors of a level have in addition to the level's, in a compiled model. Its
// constants are laid out for them; loader/compile/compile.cc states which.
#pragma once

#include <atomic>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::simd {

template <int register_bytes>
constexpr bool vnni() {
  return TENON_USES_VNNI;
}
constexpr bool vbmi() { return false; }
constexpr bool halves_registers() { return false; }

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

}  // namespace tenon::TENON_ABI::simd
