// The processors that threads run on. They are known on Linux only; elsewhere no thread is moved.
#pragma once

#include <cstddef>

#include "tenon/base/platform/mutex.hpp"

#ifndef TENON_SINGLE_THREADED
#include <thread>
#endif

#ifdef __linux__
#include <sched.h>
#include <unistd.h>
#endif

namespace tenon::TENON_ABI::detail {

/// The number of the calling thread's processor; -1 if unknown.
inline int current_processor() {
#ifdef __linux__
  return sched_getcpu();
#else
  return -1;
#endif
}

/// How many processors the calling thread may run on.
inline int allowed_processors() {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
#ifdef TENON_SINGLE_THREADED
  return 1;
#else
  return static_cast<int>(std::thread::hardware_concurrency());
#endif
}

/// Moves the calling thread from a processor to another one that it may run on, if there is one. Its affinity
/// mask stays the same.
inline void leave_processor([[maybe_unused]] int processor) {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(static_cast<std::size_t>(processor), &others);
  // A thread that may run on all present processors may also run on ones that the machine or container gets
  // later, but Linux would keep exactly the set that is written here.
  if (CPU_COUNT(&allowed) >= sysconf(_SC_NPROCESSORS_CONF))
    for (std::size_t k = 0; k < CPU_SETSIZE; ++k) CPU_SET(k, &allowed);
  // Linux refuses an empty set.
  if (sched_setaffinity(0, sizeof others, &others) == 0) sched_setaffinity(0, sizeof allowed, &allowed);
#endif
}

}  // namespace tenon::TENON_ABI::detail
