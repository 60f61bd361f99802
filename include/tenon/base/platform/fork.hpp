// Forks of the process.
#pragma once

#include <atomic>
#include <cstdint>

#include "tenon/base/version.hpp"

#if (defined(__unix__) || defined(__APPLE__)) && !defined(__EMSCRIPTEN__)
#define TENON_HAS_FORK
#include <pthread.h>
#endif

namespace tenon::TENON_ABI::detail {

/// The number of forks that led from the process of the first call to this one; 0 where processes cannot
/// fork.
inline const std::atomic<int64_t>& forks() {
  static std::atomic<int64_t> count{0};
#ifdef TENON_HAS_FORK
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { count.fetch_add(1, std::memory_order_relaxed); });
#endif
  return count;
}

}  // namespace tenon::TENON_ABI::detail

#undef TENON_HAS_FORK
