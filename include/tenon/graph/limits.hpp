// Bounds of a run: Meter counts memory, Budget the rest.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>

#include "tenon/base/platform/condition.hpp"
#include "tenon/base/storage.hpp"
#include "tenon/graph/run_options.hpp"

namespace tenon::TENON_ABI {

namespace detail {

/// An allocator that counts the bytes in use. Error{limit} for a block that would exceed the bound. Blocks
/// may outlive the owner, so the Meter lives until the owner and the last block are gone.
class Meter final : public Allocator {
  struct Drop {
    void operator()(Meter* m) const noexcept { m->drop(); }
  };

 public:
  using Owner = std::unique_ptr<Meter, Drop>;
  static Owner make(Allocator& base, int64_t bound) { return Owner(new Meter(base, bound)); }

  void* allocate(size_t bytes, size_t alignment) override {
    take(static_cast<int64_t>(bytes));
    Taken taken{this, static_cast<int64_t>(bytes)};
    void* const memory = base_.allocate(bytes, alignment);
    if (memory == nullptr) return nullptr;
    taken.meter = nullptr;
    holders_.fetch_add(1, std::memory_order_relaxed);
    return memory;
  }
  void deallocate(void* memory, size_t bytes, size_t alignment) noexcept override {
    base_.deallocate(memory, bytes, alignment);
    give(static_cast<int64_t>(bytes));
    drop();
  }

  /// Counts bytes that come from elsewhere.
  void take(int64_t bytes) {
    const int64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
    if (bytes <= bound_ && before <= bound_ - bytes) return;
    give(bytes);
    raise(ErrorCode::limit, "memory", bytes, " bytes more than the ", before, " in use pass the bound of ",
          bound_);
  }
  void give(int64_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  int64_t bound() const { return bound_; }
  /// The remaining bytes.
  int64_t left() const { return bound_ - used_.load(std::memory_order_relaxed); }

 private:
  // Gives bytes back unless they were handed out.
  struct Taken {
    Meter* meter;
    int64_t bytes;
    ~Taken() {
      if (meter != nullptr) meter->give(bytes);
    }
  };

  Meter(Allocator& base, int64_t bound) : base_(base), bound_(std::max<int64_t>(bound, 0)) {}
  void drop() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  Allocator& base_;
  const int64_t bound_;
  std::atomic<int64_t> used_{0};
  std::atomic<int64_t> holders_{1};  // the owner and the blocks
};

/// The end of a time limit that starts at construction.
class Deadline {
  using Clock = std::chrono::steady_clock;

 public:
  explicit Deadline(Clock::duration limit) : limit_(limit) {
    const Clock::time_point now = Clock::now();
    timed_ = limit < Clock::time_point::max() - now;
    if (timed_) end_ = now + limit;
  }

  /// Error{limit} once it has passed. The message names `what`, the work that took the time.
  void check(std::string_view what) const {
    if (timed_ && Clock::now() >= end_)
      raise(ErrorCode::limit, {}, what, " has passed its time of ",
            std::chrono::duration_cast<std::chrono::milliseconds>(limit_).count(), " ms");
  }
  /// The end; none if there is no limit.
  std::optional<Clock::time_point> end() const { return timed_ ? std::optional(end_) : std::nullopt; }

 private:
  Clock::duration limit_;
  bool timed_ = false;
  Clock::time_point end_{};
};

/// The bounds of one run, and its usage so far. Belongs to the run's thread.
class Budget {
 public:
  /// Whether the options set a bound.
  static bool needed(const RunOptions& o) {
    return o.time_limit != o.time_limit.max() || o.max_iterations != no_bound || o.max_bytes != no_bound ||
           o.stop.stop_possible();
  }

  /// The run begins now. `options` and `allocator` outlive the budget.
  Budget(const RunOptions& options, Allocator& allocator) : options_(options), deadline_(options.time_limit) {
    if (options.max_bytes != no_bound) meter_ = Meter::make(allocator, options.max_bytes);
  }

  /// Before each node.
  void check() const {
    if (options_.stop.stop_requested()) raise(ErrorCode::cancelled, {}, "the run was cancelled");
    deadline_.check("the run");
  }
  /// Waits until `done`, which is called under the lock. Errors of `check` if a bound ends the wait.
  template <class F>
  void wait(Condition& changed, UniqueLock& lock, F done) const {
    while (!done()) {
      check();
      changed.wait(lock, options_.stop, deadline_.end(), done);
    }
  }
  /// Before each run of a body.
  void count(const void* body) {
    check();
    if (options_.max_iterations != no_bound && ++runs_[body] > options_.max_iterations)
      raise(ErrorCode::limit, {}, "more than ", options_.max_iterations, " iterations");
  }
  /// Memory for values; null if it is unbounded.
  Meter* meter() const { return meter_.get(); }

  /// Counts characters that a body returns to the node that runs it. Needs a meter.
  void hold(int64_t bytes) {
    meter_->take(bytes);
    held_ += bytes;
  }
  int64_t held() const { return held_; }
  /// Releases all but the first `bytes` that are held.
  void release(int64_t bytes) {
    if (held_ > bytes) meter_->give(held_ - bytes);
    held_ = std::min(held_, bytes);
  }

 private:
  const RunOptions& options_;
  Deadline deadline_;
  std::map<const void*, int64_t> runs_;
  Meter::Owner meter_;
  int64_t held_ = 0;
};

/// The bound on what loops compute before any run: bytes of operands, of constants in the body, and of
/// values.
inline constexpr int64_t most_folded_in_loop = int64_t{1} << 16;
/// Without exceptions nothing ends a loop at its bounds, and none is computed.
#ifdef TENON_HAS_EXCEPTIONS
inline constexpr bool folds_loops = true;
#else
inline constexpr bool folds_loops = false;
#endif
/// The bound on the runs of each body meanwhile.
inline constexpr int64_t most_folded_iterations = 1024;

}  // namespace detail
}  // namespace tenon::TENON_ABI
