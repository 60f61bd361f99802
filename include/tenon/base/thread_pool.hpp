// The pool of threads that runs parallel loops.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "tenon/base/error.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/exceptions.hpp"
#include "tenon/base/platform/fork.hpp"
#include "tenon/base/platform/mutex.hpp"
#include "tenon/base/platform/processor.hpp"

#ifndef TENON_SINGLE_THREADED
#include <condition_variable>
#include <mutex>
#include <thread>
#endif

namespace tenon::TENON_ABI {

#ifdef TENON_SINGLE_THREADED

/// A pool without workers: the calling thread runs every call.
class ThreadPool final : public Executor {
 public:
  /// Error{invalid_argument} outside 1 to 4096.
  explicit ThreadPool(int threads) {
    if (threads < 1 || threads > 4096)
      raise(ErrorCode::invalid_argument, "ThreadPool", "cannot have ", threads, " threads");
  }

  using Executor::run;
  void run(int64_t tasks, void (*task)(void* data, int64_t index), void* data) override {
    for (int64_t i = 0; i < tasks; ++i) task(data, i);
  }
  int threads() const override { return 1; }
};

#else

/// A pool of threads that sleep while idle. Several threads may call run at once: each works on its own call,
/// and the workers help wherever tasks are left, so that no caller waits for another's work. A call allocates
/// nothing. The pool must outlive the calls.
///
/// The child of a fork has only the thread that called fork. There, the parent's pools run every call in the
/// calling thread; pools that the child creates have workers. After a fork within a task, the child lacks the
/// other threads that were working on the call: it must not return from the task, but exec or _exit.
class ThreadPool final : public Executor {
 public:
  /// `threads` includes the calling thread: 1 starts no worker. Error{invalid_argument} outside 1 to 4096;
  /// Error{out_of_memory} if the system cannot start that many.
  explicit ThreadPool(int threads) {
    if (threads < 1 || threads > 4096) {
      raise(ErrorCode::invalid_argument, "ThreadPool", "cannot have ", threads, " threads");
    }
    // A worker that spins while the thread it waits for has no processor only slows that thread down.
    spin_ = threads <= detail::allowed_processors();
    const auto start = [&] {
      workers_.reserve(static_cast<size_t>(threads - 1));
      while (static_cast<int>(workers_.size()) + 1 < threads)
        workers_.emplace_back([this, own = static_cast<int>(workers_.size()) + 1] { work(own); });
    };
    detail::attempt<std::exception>(start, [&](const std::exception& error) {
      const size_t started = workers_.size() + 1;
      stop();
      raise(ErrorCode::out_of_memory, "ThreadPool", "only ", started, " of ", threads,
            " threads: ", error.what());
    });
  }

  ~ThreadPool() override { stop(); }

  using Executor::run;
  void run(int64_t tasks, void (*task)(void* data, int64_t index), void* data) override {
    if (tasks <= 1 || threads() == 1) {
      for (int64_t i = 0; i < tasks; ++i) task(data, i);
      return;
    }
    Job job(task, data, tasks, threads());
    post(job, tasks);
    job.work(0);
    finish(job);
  }

  int threads() const override { return forked() ? 1 : static_cast<int>(workers_.size()) + 1; }

 private:
  static constexpr std::chrono::milliseconds rest{10};  // between a worker's moves

  // One call of run, on the stack of its caller. Each thread first runs the tasks of its own slice, which is
  // the same in every call with as many tasks, so that its caches hold the data of the previous call; then it
  // takes unclaimed tasks of other slices. `helpers` counts the workers that may access the job.
  struct Job {
    struct alignas(64) Slice {
      std::atomic<int64_t> next;
      int64_t end;
      bool has_tasks() const { return next.load(std::memory_order_relaxed) < end; }
    };
    static constexpr int max_slices = 16;

    void (*task)(void*, int64_t);
    void* data;
    int slices;
    std::atomic<int> helpers{0};
    bool caller_sleeps = false;
    Job* after = nullptr;
    Slice slice[max_slices];

    Job(void (*f)(void*, int64_t), void* d, int64_t tasks, int threads)
        : task(f), data(d), slices(static_cast<int>(std::min<int64_t>({tasks, threads, max_slices}))) {
      const int64_t each = tasks / slices, more = tasks % slices;
      int64_t begin = 0;
      for (int k = 0; k < slices; ++k) {
        slice[k].next.store(begin, std::memory_order_relaxed);
        slice[k].end = begin += each + (k < more);
      }
    }
    bool has_tasks() const {
      return std::any_of(slice, slice + slices, [](const Slice& s) { return s.has_tasks(); });
    }
    void work(int own) {
      for (int k = 0; k < slices; ++k) {
        Slice& s = slice[(own + k) % slices];
        while (s.has_tasks())
          if (const int64_t i = s.next.fetch_add(1, std::memory_order_relaxed); i < s.end) task(data, i);
      }
    }
  };

  void post(Job& job, int64_t tasks) {
    size_t sleepers;
    {
      const std::lock_guard lock(mutex_);
      job.after = jobs_;
      jobs_ = &job;
      caller_ = detail::current_processor();
      posted_.fetch_add(1, std::memory_order_relaxed);
      sleepers = sleepers_;
    }
    if (sleepers == 0) return;
    if (static_cast<uint64_t>(tasks) > sleepers) {
      posted_or_stopping_.notify_all();
    } else {
      for (int64_t i = 1; i < tasks; ++i) posted_or_stopping_.notify_one();
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

  // Waking a sleeper takes about twenty microseconds, longer than many loops of a small network. So a thread
  // spins before it sleeps, but no longer than serial operators between two loops take.
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

  void work(int own) {
    std::chrono::steady_clock::time_point last_move{};
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      // Linux may wake a worker on its caller's processor, and leave both there for seconds while another one
      // is idle. The worker then moves before it helps, because a job waits for its helpers. It moves only
      // rarely, because threads that outnumber the processors meet again wherever they go.
      const int caller = caller_;
      const bool meets = caller >= 0 && caller == detail::current_processor();
      if (meets) {
        if (const auto now = std::chrono::steady_clock::now(); now - last_move >= rest) {
          last_move = now;
          lock.unlock();
          detail::leave_processor(caller);
          lock.lock();
          continue;
        }
      }
      Job* job = jobs_;
      while (job != nullptr && !job->has_tasks()) job = job->after;
      if (job != nullptr) {
        job->helpers.fetch_add(1, std::memory_order_relaxed);
        lock.unlock();
        job->work(own);
        lock.lock();
        // Reaching zero lets the caller return, which ends the job: it must not be accessed afterwards.
        const bool caller_sleeps = job->caller_sleeps;
        const bool last = job->helpers.fetch_sub(1, std::memory_order_release) == 1;
        if (last && caller_sleeps) finished_.notify_all();
        continue;
      }
      const uint64_t seen = posted_.load(std::memory_order_relaxed);
      if (!meets) {
        lock.unlock();
        const bool found = spin_until([&] { return posted_.load(std::memory_order_relaxed) != seen; });
        lock.lock();
        if (found) continue;
      }
      ++sleepers_;
      posted_or_stopping_.wait(lock,
                               [&] { return stopping_ || posted_.load(std::memory_order_relaxed) != seen; });
      --sleepers_;
    }
  }

  bool forked() const { return forks_.load(std::memory_order_relaxed) != forks_before_; }

  void stop() {
    if (forked()) return abandon();
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    posted_or_stopping_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
  }

  // In the child of a fork, workers cannot be joined, and the other members are as the workers left them,
  // perhaps locked or waited on. Fresh objects replace all of these, so that they can be destroyed.
  void abandon() {
    for (std::thread& worker : workers_) std::construct_at(&worker);
    std::construct_at(&mutex_);
    std::construct_at(&posted_or_stopping_);
    std::construct_at(&finished_);
  }

  const std::atomic<int64_t>& forks_ = detail::forks();
  const int64_t forks_before_ = forks_.load(std::memory_order_relaxed);
  std::mutex mutex_;
  std::condition_variable posted_or_stopping_, finished_;
  Job* jobs_ = nullptr;                       // guarded by mutex_
  int caller_ = detail::current_processor();  // of the last job; guarded by mutex_
  size_t sleepers_ = 0;                       // guarded by mutex_
  bool stopping_ = false;                     // guarded by mutex_
  std::atomic<uint64_t> posted_{0};           // written under mutex_; the number of jobs so far
  bool spin_ = false;
  std::vector<std::thread> workers_;
};

#endif

}  // namespace tenon::TENON_ABI
