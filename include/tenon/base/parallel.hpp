// Parallel loops and the pool that runs them. `parallel_for` is the only threading point of the library: it
// runs on the executor that the calling thread has put in force with ScopedPool, and serially where there is
// none. How a loop is cut depends on its length and grain only, so results are the same bits for any number
// of threads.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "tenon/base/error.hpp"

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

inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A callable and the first of its exceptions, behind the plain function pointer that an Executor takes.
template <class F>
class TaskCall {
 public:
  explicit TaskCall(F& f) : f_(f) {}

  static void call(void* self, int64_t index) { static_cast<TaskCall*>(self)->call(index); }

  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void call(int64_t index) {
    if (index > failed_.load(std::memory_order_relaxed)) return;
    try {
      f_(index);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (index < failed_.load(std::memory_order_relaxed)) {
        failed_.store(index, std::memory_order_relaxed);
        error_ = std::current_exception();
      }
    }
  }

  F& f_;
  std::atomic<int64_t> failed_{std::numeric_limits<int64_t>::max()};
  std::mutex mutex_;
  std::exception_ptr error_;
};
}  // namespace detail

template <class F>
void Executor::run(int64_t tasks, F&& f) {
  using Call = detail::TaskCall<std::remove_reference_t<F>>;
  Call call(f);
  run(tasks, &Call::call, &call);
  call.rethrow();
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

/// Calls f(begin, end) for the chunks [0, grain), [grain, 2 grain), … of [0, n), at once where an executor is
/// in force (see ScopedPool). `begin / grain` numbers the chunks. n <= grain is one call in the caller, n <=
/// 0 none. A parallel_for inside f runs serially. Of exceptions, that of the first chunk to fail reaches the
/// caller.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& f) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  if (n <= grain) {
    f(int64_t{0}, n);
    return;
  }
  const int64_t chunks = n / grain + (n % grain != 0);
  const auto chunk = [&f, n, grain, chunks](int64_t i) {
    const int64_t begin = i * grain;
    f(begin, i + 1 < chunks ? begin + grain : n);
  };
  Executor* executor = detail::current_executor;
  if (executor == nullptr || executor->threads() <= 1) {
    for (int64_t i = 0; i < chunks; ++i) chunk(i);
    return;
  }
  executor->run(chunks, [&chunk](int64_t i) {
    const ScopedPool serial(nullptr);
    chunk(i);
  });
}

/// A pool of threads that sleep while there is nothing to do. Several threads may call run at once: each
/// works on its own call, and the workers help wherever tasks are left, so that no caller waits for another's
/// work. A call allocates nothing. The pool must outlive the calls.
class ThreadPool final : public Executor {
 public:
  /// `threads` counts the calling thread: 1 starts no worker. Takes 1 to 4096, else Error{invalid_argument};
  /// Error{out_of_memory} if the system does not give that many.
  explicit ThreadPool(int threads) {
    if (threads < 1 || threads > 4096) {
      throw Error(ErrorCode::invalid_argument, "ThreadPool", concat("cannot have ", threads, " threads"));
    }
    // A worker that spins while the thread it waits for has no processor only slows that thread down.
    spin_ = static_cast<unsigned>(threads) <= std::thread::hardware_concurrency();
    try {
      workers_.reserve(static_cast<size_t>(threads - 1));
      while (static_cast<int>(workers_.size()) + 1 < threads) workers_.emplace_back([this] { work(); });
    } catch (const std::exception& error) {
      const size_t started = workers_.size() + 1;
      stop();
      throw Error(ErrorCode::out_of_memory, "ThreadPool",
                  concat("only ", started, " of ", threads, " threads: ", error.what()));
    }
  }

  ~ThreadPool() override { stop(); }

  using Executor::run;
  void run(int64_t tasks, void (*task)(void* data, int64_t index), void* data) override {
    if (tasks <= 1 || workers_.empty()) {
      for (int64_t i = 0; i < tasks; ++i) task(data, i);
      return;
    }
    Job job{task, data, tasks};
    post(job);
    job.work();
    finish(job);
  }

  int threads() const override { return static_cast<int>(workers_.size()) + 1; }

 private:
  // One call of run, living on the stack of its caller. `helpers` counts the workers that may touch it.
  struct Job {
    void (*task)(void*, int64_t);
    void* data;
    int64_t tasks;
    std::atomic<int64_t> next{0};
    std::atomic<int> helpers{0};
    bool caller_sleeps = false;
    Job* after = nullptr;

    bool has_tasks() const { return next.load(std::memory_order_relaxed) < tasks; }
    void work() {
      for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) task(data, i);
    }
  };

  void post(Job& job) {
    size_t sleepers;
    {
      const std::lock_guard lock(mutex_);
      job.after = jobs_;
      jobs_ = &job;
      posted_.fetch_add(1, std::memory_order_relaxed);
      sleepers = sleepers_;
    }
    if (sleepers == 0) return;
    if (static_cast<uint64_t>(job.tasks) > sleepers) {
      posted_or_stopping_.notify_all();
    } else {
      for (int64_t i = 1; i < job.tasks; ++i) posted_or_stopping_.notify_one();
    }
  }

  void finish(Job& job) {
    {
      const std::lock_guard lock(mutex_);
      Job** link = &jobs_;
      while (*link != &job) link = &(*link)->after;
      *link = job.after;
    }
    // Unlinked, the job gets no more helpers; wait for those it has.
    const auto done = [&job] { return job.helpers.load(std::memory_order_acquire) == 0; };
    if (spin_until(done)) return;
    std::unique_lock lock(mutex_);
    job.caller_sleeps = true;
    finished_.wait(lock, done);
  }

  // Waking a sleeper takes some twenty microseconds, longer than many a loop of a small network. So a thread
  // looks about before it sleeps: for as long as serial operators between two loops last, and no longer.
  template <class Condition>
  bool spin_until(Condition condition) const {
    if (condition()) return true;
    if (!spin_) return false;
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
    do {
      for (int i = 0; i < 32; ++i) {
        detail::spin_pause();
        if (condition()) return true;
      }
    } while (std::chrono::steady_clock::now() < end);
    return false;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      Job* job = jobs_;
      while (job != nullptr && !job->has_tasks()) job = job->after;
      if (job != nullptr) {
        job->helpers.fetch_add(1, std::memory_order_relaxed);
        lock.unlock();
        job->work();
        lock.lock();
        // Reaching zero lets the caller return, which ends the job: it must not be touched afterwards.
        const bool caller_sleeps = job->caller_sleeps;
        const bool last = job->helpers.fetch_sub(1, std::memory_order_release) == 1;
        if (last && caller_sleeps) finished_.notify_all();
        continue;
      }
      const uint64_t seen = posted_.load(std::memory_order_relaxed);
      lock.unlock();
      const bool found = spin_until([&] { return posted_.load(std::memory_order_relaxed) != seen; });
      lock.lock();
      if (found) continue;
      ++sleepers_;
      posted_or_stopping_.wait(
          lock, [&] { return stopping_ || posted_.load(std::memory_order_relaxed) != seen; });
      --sleepers_;
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    posted_or_stopping_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
  }

  std::mutex mutex_;
  std::condition_variable posted_or_stopping_, finished_;
  Job* jobs_ = nullptr;               // guarded by mutex_
  size_t sleepers_ = 0;               // guarded by mutex_
  bool stopping_ = false;             // guarded by mutex_
  std::atomic<uint64_t> posted_{0};   // written under mutex_; how many jobs there have been
  bool spin_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace tenon
