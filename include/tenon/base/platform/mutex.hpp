// Mutexes and waiting, and whether there are threads at all. TENON_SINGLE_THREADED is defined where the
// standard library has none (WebAssembly without shared memory, bare metal); a program may define it too, in
// all of its units. Then mutexes are empty, a ThreadPool has no workers, and results are the same: they do
// not depend on the number of threads.
#pragma once

#include <atomic>
#include <mutex>
#include <version>

#include "tenon/base/version.hpp"

#if !defined(TENON_SINGLE_THREADED)
#if defined(_LIBCPP_HAS_NO_THREADS) || (defined(_LIBCPP_HAS_THREADS) && !_LIBCPP_HAS_THREADS) || \
    (defined(__GLIBCXX__) && !defined(_GLIBCXX_HAS_GTHREADS))
#define TENON_SINGLE_THREADED
#endif
#endif

// For a local variable of each thread. Without threads the C++ library may also lack the call that registers
// the destructor of a thread's variable, so that it becomes an ordinary one.
#ifdef TENON_SINGLE_THREADED
#define TENON_THREAD_LOCAL static
#else
#define TENON_THREAD_LOCAL static thread_local
#endif

namespace tenon::TENON_ABI::detail {

#ifdef TENON_SINGLE_THREADED
class Mutex {};
class LockGuard {
 public:
  explicit LockGuard(Mutex&) {}
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;
  ~LockGuard() {}
};
#else
using Mutex = std::mutex;
using LockGuard = std::lock_guard<std::mutex>;
#endif

/// Waits until `value` is not `old`. May return early; at once if the standard library cannot wait.
template <class T>
void wait_for_change([[maybe_unused]] const std::atomic<T>& value, [[maybe_unused]] T old) {
#ifdef __cpp_lib_atomic_wait
  value.wait(old, std::memory_order_acquire);
#endif
}
/// Ends the waits for a change that has been made.
template <class T>
void notify_change([[maybe_unused]] std::atomic<T>& value) {
#ifdef __cpp_lib_atomic_wait
  value.notify_all();
#endif
}

}  // namespace tenon::TENON_ABI::detail
