// The time. The C library tells it to programs without exceptions, which do not link the standard library.
#pragma once

#ifdef _WIN32
#include <chrono>
#else
#include <ctime>
#endif
#include <cstdint>

#include "tenon/base/version.hpp"

namespace tenon::TENON_ABI::detail {

/// Nanoseconds since an instant that is the same for all processes.
inline uint64_t clock_nanoseconds() {
#ifdef _WIN32
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
#else
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
#endif
}

}  // namespace tenon::TENON_ABI::detail
