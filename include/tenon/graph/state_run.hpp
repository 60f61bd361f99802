// A run of a session with a State.
#pragma once

#include "tenon/graph/frame.hpp"
#include "tenon/graph/state_decl.hpp"
#include "tenon/op/families/copy_along.hpp"

namespace tenon::TENON_ABI {

namespace detail {

/// The value of a past input of a graph before the first run with these inputs, zeros. An extent with a
/// symbol is the extent that an input has for it, and `unknown` if no input has it.
inline Value first_past(const Graph& graph, const Graph::ValueEntry& past,
                        std::span<const Value* const> inputs, int64_t unknown, Allocator& allocator) {
  const op::Info& i = past.info;
  if (i.type.kind != Kind::tensor || !i.dims.ranked())
    raise(ErrorCode::not_supported, "session", "input '", past.name,
          "' is no tensor of known rank, so that the state has no first value for it");
  Extents extents;
  for (int d = 0; d < i.dims.rank(); ++d) {
    int64_t extent = i.dims[d].known() ? i.dims[d].value() : unknown;
    for (std::size_t k = 0; k < inputs.size() && i.dims[d].symbolic(); ++k) {
      const Dims& other = graph.entry(graph.inputs()[k]).info.dims;
      if (inputs[k] == nullptr || !inputs[k]->is_tensor() || !other.ranked()) continue;
      for (int e = 0; e < other.rank(); ++e)
        if (other[e].same(i.dims[d])) extent = inputs[k]->tensor().extents()[e];
    }
    extents.push_back(extent);
  }
  return op::zeros(i.type.element, extents, allocator);
}

}  // namespace detail

inline void State::make_cache(std::size_t k, const CachePair& pair) {
  Slot& slot = slots_[k];
  if (caches_[2 * k].past > 0 && slot.stacked != pair.stacked)
    raise(ErrorCode::invalid_shape, "state", "'", slot.pair.past, "' has ", slot.stacked ? 5 : 4,
          " axes, but this run's has ", pair.stacked ? 5 : 4);
  // Another program may have kept them in another type.
  if (caches_[2 * k].past > 0 && caches_[2 * k].rows.dtype() != pair.type) make_value(k, pair.type);
  if (!slot.whole) return;
  if (slot.updated)
    raise(ErrorCode::invalid_argument, "state", "'", slot.pair.past,
          "': runs write into it, so that its steps are not known, and this run adds steps");
  start_cache(k, slot.value.tensor(), pair);
  slot = Slot{std::move(slot.pair)};
  slot.stacked = pair.stacked, slot.columns = pair.columns;
}

inline void State::begin_again(std::size_t k) {
  if (!slots_[k].whole && caches_[2 * k].past == 0) return;
  StepCache first = no_steps(), second = no_steps();
  aside_.reserve(slots_.size());
  aside_.push_back({k, std::exchange(slots_[k], {slots_[k].pair}),
                    std::exchange(caches_[2 * k], std::move(first)),
                    std::exchange(caches_[2 * k + 1], std::move(second))});
}

inline void State::start_cache(std::size_t k, const AnyTensor& given, const CachePair& pair) {
  StepCache first = no_steps(), second = no_steps();
  const AnyTensor steps = op::with_type(given, pair.type, allocator());
  const Extents& e = steps.extents();
  if (pair.columns && e.size() == 4) {
    first.start(op::with_swapped_axes(steps, allocator()));
  } else if (!pair.stacked) {
    first.start(steps);
  } else {
    if (e.size() != 5 || e[0] != 2)
      raise(ErrorCode::invalid_shape, "state", "'", slots_[k].pair.past, "': ", to_string(e),
            " is no stack of keys and values");
    const Extents half{e[1], e[2], e[3], e[4]};
    first.start({steps.dtype(), steps.data(), half});
    const auto* const bytes = static_cast<const std::byte*>(steps.data());
    second.start({steps.dtype(), bytes + steps.bytes() / 2, half});
  }
  caches_[2 * k] = std::move(first), caches_[2 * k + 1] = std::move(second);
}

inline void State::make_value(std::size_t k, DType type) {
  const StepCache& cache = caches_[2 * k];
  Slot& slot = slots_[k];
  if (cache.past == 0) return;
  const PagedRows& rows = cache.rows;
  if (rows.begin() > 0)
    raise(ErrorCode::invalid_argument, "state", "'", slot.pair.past, "': the steps before ", rows.begin(),
          " were released, and this run reads them");
  Extents extents{rows.batch(), rows.heads(), cache.past, rows.size()};
  const Extents half = extents;
  if (slot.stacked) extents = {2, half[0], half[1], half[2], half[3]};
  AnyTensor all = AnyTensor::uninitialized(rows.dtype(), extents, allocator());
  auto* const bytes = static_cast<std::byte*>(all.out().data());
  op::copy_steps(rows, {rows.dtype(), bytes, half});
  if (slot.stacked) op::copy_steps(caches_[2 * k + 1].rows, {rows.dtype(), bytes + all.bytes() / 2, half});
  if (slot.columns) all = op::with_swapped_axes(all, allocator());
  slot.value = op::with_type(all, type, allocator()), slot.whole = true,
  slot.axis = slot.stacked || slot.columns ? 3 : 2;
  for (const std::size_t c : {2 * k, 2 * k + 1}) caches_[c] = no_steps();
}

// A run with a state. What the run has added counts once it is committed.
class State::Run {
 public:
  explicit Run(State& state) : state_(state) {
    if (state.running_.exchange(true))
      raise(ErrorCode::invalid_argument, "state", "it is in use by another run");
    for (StepCache& c : state.caches_) c.rows.truncate(c.past);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    for (std::size_t k = 0; k < state_.slots_.size(); ++k)  // the run has failed
      if (std::exchange(state_.slots_[k].started, false))
        for (const std::size_t c : {2 * k, 2 * k + 1}) state_.caches_[c] = state_.no_steps();
    for (Aside& a : state_.aside_) {
      state_.slots_[a.number] = std::move(a.slot);
      state_.caches_[2 * a.number] = std::move(a.first);
      state_.caches_[2 * a.number + 1] = std::move(a.second);
    }
    state_.aside_.clear();
    state_.results_.clear();
    state_.lent_.clear();
    state_.running_ = false;
  }

  /// The results of a run of a program with these outputs: `shown` ones, in the memory of old results, then
  /// the presents, or numbers of steps, of pairs. A present that is also shown lies in its past's memory as
  /// well, unless a handle to an earlier result shows that.
  std::span<Value> results(std::span<Value> shown, std::span<const ValueId> outputs,
                           std::span<const CachePair> pairs) {
    state_.results_.clear();
    state_.lent_.assign(outputs.size(), {});
    for (Value& v : shown) state_.results_.push_back(std::move(v));
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      if (pairs[k].output == CachePair::no_output) continue;
      const ValueId present = outputs[pairs[k].output];
      for_each_named(present, shown.size(), outputs, [&](std::size_t n) { state_.results_[n] = {}; });
      state_.results_.push_back(std::move(state_.slots_[k].spare));
      if (!pairs[k].updated || pairs[k].dropped) continue;
      const Storage memory = to_lend(state_.slots_[k].value);
      for (std::size_t n = 0; n < outputs.size(); ++n)
        if (outputs[n] == present) state_.lent_[n] = memory;
    }
    return state_.results_;
  }
  /// What the frame uses of the state.
  detail::RunState frame_state() const { return {state_.caches_, true, state_.lent_}; }
  /// The state keeps presents; results that are presents too may be read only. What may fail comes first, so
  /// that a run that cannot be kept for want of memory leaves the state as it was.
  void commit(std::span<Value> shown, std::span<const ValueId> outputs, std::span<const CachePair> pairs) {
    for (std::size_t k = 0; k < pairs.size(); ++k) make_lasting(k, pairs[k], shown.size(), outputs);
    for (std::size_t n = 0; n < shown.size(); ++n) shown[n] = std::move(state_.results_[n]);
    for (std::size_t k = 0; k < pairs.size(); ++k) keep(k, pairs[k]);
    state_.aside_.clear();
  }

 private:
  /// Calls f(n) for each shown result n that is this value.
  template <class F>
  static void for_each_named(ValueId value, std::size_t shown, std::span<const ValueId> outputs, F f) {
    for (std::size_t n = 0; n < shown; ++n)
      if (outputs[n] == value) f(n);
  }
  /// Whether the run gives the state another value of a past that is no cache of steps.
  bool replaces(std::size_t k, const CachePair& pair) const {
    return pair.output != CachePair::no_output && !pair.kept && !(pair.constant && state_.slots_[k].whole);
  }
  /// Makes what the state will keep of a pair last longer than the run.
  void make_lasting(std::size_t k, const CachePair& pair, std::size_t shown,
                    std::span<const ValueId> outputs) {
    Slot& slot = state_.slots_[k];
    if (pair.output == CachePair::no_output && !slot.whole) slot.value = owned(slot.value);
    if (!replaces(k, pair)) return;
    for_each_named(outputs[pair.output], shown, outputs,
                   [&](std::size_t n) { state_.results_[n] = state_.results_[n].read_only(); });
    Value& now = state_.results_[pair.output];
    const bool same =
        now.is_tensor() && slot.value.is_tensor() && now.tensor().data() == slot.value.tensor().data();
    if (pair.updated && !same) now = with_room(now.tensor(), slot.value.tensor());
    // What may only be read is an input of the run: the caller's, unless it is the past that the state has.
    if (now.is_tensor() && !now.tensor().writable() && !(same && slot.whole)) now = owned(now);
  }
  void keep(std::size_t k, const CachePair& pair) noexcept {
    Slot& slot = state_.slots_[k];
    slot.started = false;
    if (pair.output == CachePair::no_output) {
      slot.whole = true;
      return;
    }
    const bool replaced = replaces(k, pair);
    Value now = std::exchange(state_.results_[pair.output], {});
    if (pair.kept) {
      slot.spare = std::move(now), slot.stacked = pair.stacked, slot.columns = pair.columns;
      for (const std::size_t c : {2 * k, 2 * k + 1}) {
        StepCache& cache = state_.caches_[c];
        // The window of the run's first step, so that all of its steps can be cut off again.
        if (pair.window >= 0) cache.rows.release(cache.past - pair.window);
        cache.past = cache.rows.end();
      }
    }
    if (!replaced) return;
    slot.whole = true, slot.updated = pair.updated, slot.dropped = pair.dropped;
    slot.axis = slot.pair.axis >= 0 ? slot.pair.axis : pair.axis;
    if (!slot.updated || slot.dropped) slot.spare = std::exchange(slot.value, std::move(now));
    else if (now.tensor().data() != slot.value.tensor().data()) slot.value = std::move(now);
  }
  /// The value, with elements of its own: the caller may change or free an input after the run.
  Value owned(const Value& v) const {
    return v.is_tensor() ? Value(v.tensor().clone(state_.allocator())) : v.read_only();
  }
  /// The memory of a past, for its present, unless a fork has it too: it would see the writes.
  static Storage to_lend(const Value& past) {
    const Storage& s = past.tensor().storage();
    return s.unique() && s.writable() ? s : Storage();
  }
  /// A present that did not fit its past's memory. If it has more rows, there is room for twice as many.
  Value with_room(const AnyTensor& now, const AnyTensor& past) const {
    Extents extents = now.extents();
    int axis = -1;
    for (int d = 0; d < now.rank() && now.rank() == past.rank(); ++d)
      if (extents[d] > past.extents()[d]) axis = d;
    if (axis >= 0) extents[axis] = std::max(extents[axis], 2 * past.extents()[axis]);
    if (extents == now.extents()) return AnyTensor(now);
    AnyTensor grown = op::zeros(now.dtype(), extents, state_.allocator());
    op::copy_along(axis, now, 0, grown.out(), 0, now.extents()[axis]);
    return grown;
  }

  State& state_;
};

}  // namespace tenon::TENON_ABI
