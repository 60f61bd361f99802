// Function bodies of state.hpp.
#pragma once

#include "tenon/graph/passes/keep_caches.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/graph/state_decl.hpp"
#include "tenon/op/families/copy_along.hpp"

#ifdef TENON_COMPILED_SESSION
#define TENON_STATE
#else
#define TENON_STATE inline
#endif

namespace tenon::TENON_ABI {

TENON_STATE State::State(StateOptions options) : State(options, &passes::keep_caches) {
  if (options.capacity < 0)
    raise(ErrorCode::invalid_argument, "state", "capacity: ", options.capacity, ", expected at least 0");
  for (StatePair& p : options.pairs) {
    for (const Slot& s : slots_)
      if (s.pair.past == p.past || s.pair.present == p.present)
        raise(ErrorCode::invalid_argument, "state", "'", s.pair.past == p.past ? p.past : p.present,
              "' is in two pairs");
    slots_.push_back({std::move(p)});
    for (int cache = 0; cache < 2; ++cache) caches_.push_back(no_steps());
  }
  options_.pairs.clear();
}

TENON_STATE void State::truncate(int64_t length) {
  const auto refuse = [](const auto&... why) { raise(ErrorCode::invalid_argument, "state", why...); };
  const int64_t held = this->length();
  if (length < 0) refuse("it cannot be cut to ", length, " steps");
  if (const std::size_t k = slot_without(held); k < slots_.size()) {
    const Slot& s = slots_[k];
    if (s.dropped) refuse("'", s.pair.past, "' has its latest steps only, so that none can be cut off");
    if (s.whole && s.steps() < 0)
      refuse("'", s.pair.past,
             "' is no cache, and its axis of steps is not known: StatePair::axis states it");
    refuse("'", s.pair.past, "' has ", s.whole ? s.steps() : caches_[2 * k].past,
           " steps, but another past has ", held);
  }
  for (const StepCache& c : caches_)
    if (length < c.rows.begin())
      refuse("the steps before ", c.rows.begin(), " were released, so that it cannot be cut to ", length);
  std::vector<Value> first;  // of every value that is cut: all of them, before anything changes
  for (const Slot& s : slots_) {
    if (s.steps() <= length) continue;
    const AnyTensor& all = s.value.tensor();
    Extents extents = all.extents();
    extents[s.axis] = length;
    AnyTensor cut = AnyTensor::uninitialized(all.dtype(), extents, allocator());
    op::copy_along(s.axis, all, 0, cut.out(), 0, length);
    first.push_back(std::move(cut));
  }
  for (StepCache& c : caches_) {
    c.past = std::min(c.past, length);
    c.rows.truncate(c.past);
  }
  for (auto next = first.begin(); Slot & s : slots_)
    if (s.steps() > length) s.value = std::move(*next++);
}

}  // namespace tenon::TENON_ABI

#undef TENON_STATE
