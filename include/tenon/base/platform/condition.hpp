// Waiting for what another thread does.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "tenon/base/platform/mutex.hpp"
#include "tenon/base/platform/stop.hpp"

#ifndef TENON_SINGLE_THREADED
#include <condition_variable>
#endif

namespace tenon::TENON_ABI::detail {

#ifdef TENON_SINGLE_THREADED
class UniqueLock {
 public:
  explicit UniqueLock(Mutex&) {}
  void lock() {}
  void unlock() {}
};
/// A single thread has no other one to wait for.
class Condition {
 public:
  template <class F>
  void wait(UniqueLock&, F) {}
  template <class F>
  void wait(UniqueLock&, const StopToken&, std::optional<std::chrono::steady_clock::time_point>, F) {}
  void notify_all() {}
};
#else
using UniqueLock = std::unique_lock<std::mutex>;

/// std::condition_variable_any, with a wait that a request or a time ends.
class Condition {
 public:
  /// Waits until done(), which is called under the lock.
  template <class F>
  void wait(UniqueLock& lock, F done) {
    changed_.wait(lock, done);
  }
  /// The same, but returns early once `stop` is requested or `end`, if any, has passed. Without
  /// std::stop_token a request is noticed within 10 ms.
  template <class F>
  void wait(UniqueLock& lock, const StopToken& stop, std::optional<std::chrono::steady_clock::time_point> end,
            F done) {
#if defined(__cpp_lib_jthread)
    if (end) changed_.wait_until(lock, stop, *end, done);
    else changed_.wait(lock, stop, done);
#else
    using Clock = std::chrono::steady_clock;
    const auto ended = [&] { return stop.stop_requested() || (end && Clock::now() >= *end); };
    while (!done() && !ended()) {
      const auto turn = Clock::now() + std::chrono::milliseconds(10);
      changed_.wait_until(lock, end ? std::min(*end, turn) : turn);
    }
#endif
  }
  void notify_all() { changed_.notify_all(); }

 private:
  std::condition_variable_any changed_;
};
#endif

}  // namespace tenon::TENON_ABI::detail
