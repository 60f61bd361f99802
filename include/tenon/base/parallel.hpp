// Parallel loops. `parallel_for` and `parallel_rounds` are the only threading points of the library: they run
// on the executor that the calling thread has installed with ScopedPool (base/thread_pool.hpp has one), or
// serially without one. How a loop is split depends only on its length and grain, so results are
// bit-identical for any number of threads.
#pragma once

#include "tenon/base/version.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <type_traits>
#include <utility>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/platform/exceptions.hpp"
#include "tenon/base/platform/mutex.hpp"

namespace tenon::TENON_ABI {

/// Runs independent tasks concurrently. Derive from it to supply your own pool.
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

  /// Calls f(i) for every i of [0, tasks). If calls throw, the caller gets the exception of the lowest index,
  /// as from a serial loop; calls with higher indices may then be skipped.
  template <class F>
  void run(int64_t tasks, F&& f);
};

namespace detail {
TENON_PROCESS_WIDE inline constinit thread_local Executor* current_executor = nullptr;

// A callable and the first of its exceptions, called through the plain function pointer that an Executor
// takes. Not a template, because each of the many loops would compile it anew.
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
    if (std::exception_ptr error = caught([&] { function_(f_, index); })) {
      const LockGuard lock(mutex_);
      if (index < failed_.load(std::memory_order_relaxed)) {
        failed_.store(index, std::memory_order_relaxed);
        error_ = std::move(error);
      }
    }
  }

  void (*function_)(void*, int64_t);
  void* f_;
  std::atomic<int64_t> failed_{std::numeric_limits<int64_t>::max()};
  Mutex mutex_;
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

/// How many threads a parallel_for of this thread could use now.
inline int64_t threads_at_hand() {
  const Executor* executor = current_executor();
  return executor == nullptr ? 1 : std::max(executor->threads(), 1);
}

/// Installs an executor for parallel_for on this thread for the lifetime of this object; nullptr means
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
/// Calls task(i) for every i of [0, tasks) on an executor; loops inside a task run serially.
template <class F>
void run_tasks(Executor& executor, int64_t tasks, const F& task) {
  executor.run(tasks, [&task](int64_t i) {
    const ScopedPool serial(nullptr);
    task(i);
  });
}

/// parallel_for over call(f, begin, end). Not inlined, because the loop's body would be compiled once for
/// each of its calls here.
TENON_NOINLINE inline void for_chunks(int64_t n, int64_t grain,
                                      void (*call)(void* f, int64_t begin, int64_t end), void* f) {
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
  run_tasks(*executor, chunks, chunk);
}
}  // namespace detail

/// Calls f(begin, end) for the chunks [0, grain), [grain, 2 grain), … of [0, n), in parallel if an executor
/// is installed (see ScopedPool). `begin / grain` is the chunk's number. n <= grain makes one call on the
/// calling thread, n <= 0 none. A parallel_for inside f runs serially. The caller gets the exception of the
/// first chunk that fails.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& f) {
  using Chunk = std::remove_reference_t<F>;
  detail::for_chunks(
      n, grain, [](void* chunk, int64_t begin, int64_t end) { (*static_cast<Chunk*>(chunk))(begin, end); },
      detail::address_of(f));
}

namespace detail {
// The calls of many rounds, distributed over tasks that may start late, or run one after another. A task
// first makes the calls of its own slice, which is the same in every round, then unclaimed calls of other
// slices. It waits only for calls in progress.
class Rounds {
 public:
  static constexpr int64_t max_slices = 64;

  Rounds(int64_t rounds, int64_t n, int64_t slices, void (*call)(void* f, int64_t round, int64_t i), void* f)
      : rounds_(rounds), n_(n), slices_(slices), call_(call), f_(f) {}

  void work(int64_t own) {
    const std::exception_ptr failure = caught([&] {
      int64_t round = 0;
      while ((round = std::max(round, done_.load(std::memory_order_acquire) / n_)) < rounds_) {
        for (int64_t k = 0; k < slices_; ++k) work_on((own + k) % slices_, round);
        wait_for(++round * n_);
      }
    });
    if (failure) {
      done_.store(std::numeric_limits<int64_t>::max() / 2);  // lets the other tasks return
      notify_change(done_);
      std::rethrow_exception(failure);
    }
  }

 private:
  // Calls claimed so far, of all rounds.
  struct alignas(64) Claims {
    std::atomic<int64_t> count{0};
  };

  void work_on(int64_t slice, int64_t round) {
    const int64_t first = slice * n_ / slices_, size = (slice + 1) * n_ / slices_ - first;
    std::atomic<int64_t>& claims = claims_[slice].count;
    int64_t calls = 0;
    for (int64_t claim = claims.load(std::memory_order_relaxed); claim < (round + 1) * size;) {
      if (!claims.compare_exchange_weak(claim, claim + 1, std::memory_order_relaxed)) continue;
      const int64_t at = claim % size;
      call_(f_, round, first + (round % 2 == 0 ? at : size - 1 - at));
      ++claim, ++calls;
    }
    if (calls > 0) finished(calls);
  }
  void finished(int64_t calls) {
    done_.fetch_add(calls, std::memory_order_acq_rel);
    notify_change(done_);
  }
  void wait_for(int64_t calls) const {
    int64_t done;
    for (int spins = 0; (done = done_.load(std::memory_order_acquire)) < calls; ++spins) {
      if (spins < 2000) spin_pause();
      else wait_for_change(done_, done);
    }
  }

  int64_t rounds_, n_, slices_;
  void (*call_)(void*, int64_t, int64_t);
  void* f_;
  alignas(64) std::atomic<int64_t> done_{0};
  Claims claims_[max_slices];
};

inline void for_rounds(int64_t rounds, int64_t n, void (*call)(void* f, int64_t round, int64_t i), void* f) {
  if (n <= 0) return;
  Executor* executor = current_executor;
  const int64_t slices =
      executor == nullptr ? 1 : std::clamp<int64_t>(executor->threads(), 1, std::min(n, Rounds::max_slices));
  Rounds work(rounds, n, slices, call, f);
  if (slices <= 1) return work.work(0);
  run_tasks(*executor, slices, [&work](int64_t slice) { work.work(slice); });
}
}  // namespace detail

/// Calls f(round, i) for every i of [0, n), for every round of [0, rounds); a round begins when all calls of
/// the previous round have returned, and sees their writes. Cheaper than a parallel_for for each round:
/// threads synchronise without the executor, and each i mostly stays on the thread whose caches hold its
/// data, which is why odd rounds go from the last i to the first. A parallel_for inside f runs serially,
/// except that n = 1 is a plain loop in the caller. If f throws, the caller gets one of the exceptions.
template <class F>
void parallel_rounds(int64_t rounds, int64_t n, F&& f) {
  using Call = std::remove_reference_t<F>;
  detail::for_rounds(
      rounds, n, [](void* call, int64_t round, int64_t i) { (*static_cast<Call*>(call))(round, i); },
      detail::address_of(f));
}

}  // namespace tenon::TENON_ABI
