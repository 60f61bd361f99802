// Runner: keeps frames for several sets of extents and for concurrent threads.
#pragma once

#include "tenon/base/platform/exceptions.hpp"
#include "tenon/base/platform/mutex.hpp"
#include "tenon/graph/frame.hpp"

namespace tenon::TENON_ABI::detail {

/// Runs one program for any extents. Any number of threads may call `run` concurrently.
class Runner {
 public:
  Runner(Program program, Allocator& allocator) : program_(std::move(program)), allocator_(&allocator) {
    idle_.reserve(max_idle + 1);
  }

  const Program& program() const { return program_; }
  Allocator& allocator() const { return *allocator_; }

  void run(std::span<const Value* const> inputs, const op::Context* outer, std::span<Value> outputs,
           Profile* profile, Budget* budget, const RunState& state = {}) {
    std::unique_ptr<Frame> frame = take(inputs, outer, budget, state.grows);
    const bool metered = budget != nullptr && budget->meter() != nullptr;
    const int64_t most = !metered ? no_bound : outer != nullptr ? idle_of_body : budget->meter()->bound();
    const std::exception_ptr failure =
        caught([&] { frame->run(inputs, outer, outputs, profile, budget, state); });
    give(std::move(frame), most);
    if (failure) std::rethrow_exception(failure);
  }

  /// A frame for inputs of these types and extents, for the caller's exclusive use. If extents may grow from
  /// run to run (`grows`), it may be a frame that leaves some to the run.
  std::unique_ptr<Frame> take(std::span<const Value* const> inputs, const op::Context* outer,
                              const Budget* budget, bool grows = false) {
    std::vector<op::Info> given;
    {
      const LockGuard lock(mutex_);
      for (std::size_t k = idle_.size(); k-- > 0;) {
        bool fits = true;
        Frame::for_each_given(program_, inputs, outer, [&](std::size_t g, const Value& v) {
          fits = fits && same(idle_[k]->given()[g], v);
        });
        if (!fits) continue;
        std::unique_ptr<Frame> frame = std::move(idle_[k]);
        idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(k));
        return frame;
      }
      given = given_of(inputs, outer);
      for (std::size_t k = idle_.size(); grows && k-- > 0;)
        if (leave_growth(given, idle_[k]->given())) break;
    }
    return std::make_unique<Frame>(program_, std::move(given), *allocator_, budget);
  }

  /// The plan for given values of these types and extents.
  Plan plan(std::span<const op::Info> given) const { return Planner(program_, given).take(); }

 private:
  static bool same(const op::Info& i, const Value& v) {
    if (!v.is_tensor()) return i.type == v.type() && !i.dims.ranked();
    return i.type == Type(v.tensor().dtype()) && i.dims.rank() == v.tensor().rank() &&
           i.dims.fits(Dims(v.tensor().extents()));
  }
  std::vector<op::Info> given_of(std::span<const Value* const> inputs, const op::Context* outer) const {
    std::vector<op::Info> given(program_.given().size());
    Frame::for_each_given(program_, inputs, outer, [&](std::size_t k, const Value& v) {
      given[k] = op::info_of(v);
      given[k].data = nullptr;
      if (!v.is_tensor()) given[k].dims = {};
    });
    return given;
  }
  /// Whether these runs are the same but for extents that have grown, all of them by as much, such as a
  /// mask's for the steps so far; the new run's are then made unknown. Inputs none of whose extents have
  /// grown show that it is another step, and not a longer sequence.
  static bool leave_growth(std::vector<op::Info>& now, const std::vector<op::Info>& before) {
    int64_t growth = 0;
    bool constant = false;
    for (std::size_t k = 0; k < now.size(); ++k) {
      const Dims &a = before[k].dims, &b = now[k].dims;
      if (!(before[k].type == now[k].type) || a.ranked() != b.ranked() || a.rank() != b.rank()) return false;
      bool grown = false;
      for (int d = 0; d < b.rank(); ++d) {
        if (a[d].same(b[d])) continue;
        if (!a[d].known() || !b[d].known()) return false;
        const int64_t more = b[d].value() - a[d].value();
        if (more <= 0 || (growth != 0 && more != growth)) return false;
        growth = more, grown = true;
      }
      constant |= now[k].present() && b.rank() > 0 && !grown;
    }
    if (growth == 0 || !constant) return false;
    for (std::size_t k = 0; k < now.size(); ++k)
      for (int d = 0; d < now[k].dims.rank(); ++d)
        if (!before[k].dims[d].same(now[k].dims[d])) now[k].dims[d] = Dim();
    return true;
  }
  // Keeps a frame for the next run of its extents. The least recently used ones are dropped beyond `most`
  // bytes of arenas.
  void give(std::unique_ptr<Frame> frame, int64_t most) {
    std::array<std::unique_ptr<Frame>, max_idle + 1> old;  // freed outside the lock
    const LockGuard lock(mutex_);
    idle_.push_back(std::move(frame));
    std::size_t first = idle_.size();  // the first frame that stays
    for (int64_t left = most; first > 0 && idle_.size() - first < max_idle; --first) {
      const int64_t bytes = idle_[first - 1]->plan().arena_bytes;
      if (bytes > left) break;
      left -= bytes;
    }
    std::move(idle_.begin(), idle_.begin() + static_cast<std::ptrdiff_t>(first), old.begin());
    idle_.erase(idle_.begin(), idle_.begin() + static_cast<std::ptrdiff_t>(first));
  }

  static constexpr std::size_t max_idle = 16;
  // Bytes that the frames of one body may keep in a run with bounded memory: there may be many bodies.
  static constexpr int64_t idle_of_body = 64 << 10;

  Program program_;
  Allocator* allocator_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Frame>> idle_;
};

}  // namespace tenon::TENON_ABI::detail
