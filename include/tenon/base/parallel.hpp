// Parallel loops. `parallel_for` is the only threading point of the library: it runs on the executor that the
// calling thread has put in force with ScopedPool (base/thread_pool.hpp has one), and serially where there is
// none. How a loop is cut depends on its length and grain only, so results are the same bits for any number
// of threads.
#pragma once

#include "tenon/base/version.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <type_traits>

namespace tenon {

/// Something that can run independent tasks at once. Derive from it to lend Tenon a pool of your own.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  /// Calls task(data, i) once for every i of [0, tasks), in any order and on any threads, and returns when
  /// all calls have returned; what they wrote is then visible to the caller. Must be callable from several
  /// threads at once and from inside a task. `task` never throws when the call comes from the template below
  /// or from parallel_for.
  virtual void run(int64_t tasks, void (*task)(void* data, int64_t index), void* data) = 0;

  /// How many threads work on one call, the caller's included.
  virtual int threads() const = 0;

  /// Calls f(i) for every i of [0, tasks). If calls throw, the exception of the lowest index reaches the
  /// caller, which is the one that a serial loop would have met; calls of higher indices may then be left
  /// out.
  template <class F>
  void run(int64_t tasks, F&& f);
};

namespace detail {
inline constinit thread_local Executor* current_executor = nullptr;

// A callable and the first of its exceptions, behind the plain function pointer that an Executor takes. No
// template: loops are many, and each would compile it anew.
class TaskCall {
 public:
  TaskCall(void (*function)(void*, int64_t), void* f) : function_(function), f_(f) {}

  void run_on(Executor& executor, int64_t tasks) {
    executor.run(
        tasks, [](void* self, int64_t index) { static_cast<TaskCall*>(self)->call(index); },
        static_cast<void*>(this));
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void call(int64_t index) {
    if (index > failed_.load(std::memory_order_relaxed)) return;
    try {
      function_(f_, index);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (index < failed_.load(std::memory_order_relaxed)) {
        failed_.store(index, std::memory_order_relaxed);
        error_ = std::current_exception();
      }
    }
  }

  void (*function_)(void*, int64_t);
  void* f_;
  std::atomic<int64_t> failed_{std::numeric_limits<int64_t>::max()};
  std::mutex mutex_;
  std::exception_ptr error_;
};

template <class F>
void* address_of(F& f) {
  return const_cast<void*>(static_cast<const void*>(&f));
}
}  // namespace detail

template <class F>
void Executor::run(int64_t tasks, F&& f) {
  using Task = std::remove_reference_t<F>;
  detail::TaskCall([](void* task, int64_t index) { (*static_cast<Task*>(task))(index); },
                   detail::address_of(f))
      .run_on(*this, tasks);
}

/// The executor that parallel_for uses on this thread; nullptr if it runs serially.
inline Executor* current_executor() { return detail::current_executor; }

/// Puts an executor in force for parallel_for on this thread, for the lifetime of this object; nullptr means
/// serial.
class ScopedPool {
 public:
  explicit ScopedPool(Executor& executor) : ScopedPool(&executor) {}
  explicit ScopedPool(Executor* executor) : previous_(detail::current_executor) {
    detail::current_executor = executor;
  }
  ~ScopedPool() { detail::current_executor = previous_; }
  ScopedPool(const ScopedPool&) = delete;
  ScopedPool& operator=(const ScopedPool&) = delete;

 private:
  Executor* previous_;
};

namespace detail {
/// parallel_for over call(f, begin, end).
inline void for_chunks(int64_t n, int64_t grain, void (*call)(void* f, int64_t begin, int64_t end), void* f) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  if (n <= grain) return call(f, 0, n);
  const int64_t chunks = n / grain + (n % grain != 0);
  const auto chunk = [=](int64_t i) {
    const int64_t begin = i * grain;
    call(f, begin, i + 1 < chunks ? begin + grain : n);
  };
  Executor* executor = current_executor;
  if (executor == nullptr || executor->threads() <= 1) {
    for (int64_t i = 0; i < chunks; ++i) chunk(i);
    return;
  }
  executor->run(chunks, [&chunk](int64_t i) {
    const ScopedPool serial(nullptr);
    chunk(i);
  });
}
}  // namespace detail

/// Calls f(begin, end) for the chunks [0, grain), [grain, 2 grain), … of [0, n), at once where an executor is
/// in force (see ScopedPool). `begin / grain` numbers the chunks. n <= grain is one call in the caller, n <=
/// 0 none. A parallel_for inside f runs serially. Of exceptions, that of the first chunk to fail reaches the
/// caller.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& f) {
  using Chunk = std::remove_reference_t<F>;
  detail::for_chunks(
      n, grain, [](void* chunk, int64_t begin, int64_t end) { (*static_cast<Chunk*>(chunk))(begin, end); },
      detail::address_of(f));
}

}  // namespace tenon
