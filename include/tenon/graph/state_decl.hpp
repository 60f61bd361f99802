// State: what a model carries from one run to the next, such as a language model's keys and values. Its
// constructor, with the pass that makes caches, and its truncation are in state.hpp.
#pragma once

#include <algorithm>
#include <atomic>

#include "tenon/graph/pass.hpp"
#include "tenon/graph/session_decl.hpp"
#include "tenon/tensor/paged_rows.hpp"

namespace tenon::TENON_ABI {

struct CachePair;

/// The names of an input and of the output that replaces it in the next run. A session that lacks all of the
/// inputs makes the first run of others: a model in two files.
struct StatePair {
  std::string past, present;
  /// The axis along which a run adds its steps after the earlier ones; -1: the one that a Concat or an
  /// Attention of the graph makes it, or none. Truncation shortens a past that is no cache along it, and a
  /// session without the past writes (batch, heads, steps, size) to a cache if it is 2.
  int axis = -1;
  /// Runs leave the past as it is, once a run has returned the present, or was given the past by a session
  /// without the present: keys and values of an encoder.
  bool constant = false;
  bool operator==(const StatePair&) const = default;
};

/// What a State carries, and where.
struct StateOptions {
  std::vector<StatePair> pairs;
  /// The first value of extents that a past declares unknown, where runs write rows into it instead of adding
  /// steps (GroupQueryAttention); at least 0. It is greater where the operator needs more, for a window. A
  /// run that needs more rows makes them twice as many.
  int64_t capacity = 256;
  int64_t page_steps = 256;  ///< steps in a page of a cache
  /// int8: pages hold vectors as 8-bit codes, each with a scale, in about a quarter of a float32 cache's
  /// memory; a number is off by at most a 254th of its vector's greatest magnitude. Pasts that are no caches
  /// of pages keep their type. undefined: the model's type.
  DType cache_type = DType::undefined;
  /// Allocates pages; must outlive the state and its forks. Null: aligned operator new.
  Allocator* allocator = nullptr;
};

/// The values of a model's past inputs, which runs replace with its present outputs:
///
///   State state({.pairs = {{"past_key", "present_key"}, {"past_value", "present_value"}}});
///   for (…) s.run({{"ids", token}}, outputs, {.state = &state});
///
/// A run is given no past, except that the first one may be given values to start from. Without these, a past
/// has the declared extents, other inputs' extents where they share a symbol, and no steps. A run returns no
/// present, unless RunOptions::outputs names it. Such a result may only be read if the state keeps the same
/// elements; a later run that changes them copies them while the result exists.
/// - Where a present is its past followed by the steps of the run, and the past declares no number of steps,
///   it is a cache of pages: a run adds its steps and copies nothing, and attention reads the pages. Other
///   readers get a copy. A past (2, batch, heads, steps, size) of keys and values becomes two caches, and of
///   keys (batch, heads, size, steps) a cache has the transpose.
/// - Where it is its past with some rows written (TensorScatter, GroupQueryAttention, ScatterND of steps that
///   a Transpose has brought to the front), runs write them in place. A circular cache, or one that holds a
///   window, loses earlier rows: each run copies it, and no step can be cut off. `capacity` is the number of
///   rows that are not declared.
/// - All other presents become the next run's pasts as they are. One that is an input of the run is copied,
///   because the caller may change the input, and so is the constant past that a run is given.
/// A run of a session that lacks the pasts gives the state its first steps, and is refused if there are some.
/// So is a run whose pasts have other types or extents than declared (Error{invalid_type, invalid_shape}).
///
/// A run that fails leaves the state as it was, but for rows that it has written in place and pasts that it
/// was given. A state serves one run at a time (Error{invalid_argument} for another), of any session of the
/// model.
class State {
 public:
  /// Error{invalid_argument} if a name appears twice, and for options that are out of range.
  explicit State(StateOptions options);
  State(State&& other) noexcept
      : options_(other.options_),
        keep_(other.keep_),
        slots_(std::move(other.slots_)),
        caches_(std::move(other.caches_)) {}
  State& operator=(State&& other) noexcept {
    options_ = other.options_, keep_ = other.keep_;
    slots_ = std::move(other.slots_), caches_ = std::move(other.caches_);
    return *this;
  }

  /// The steps that caches and pasts with a known axis hold, released ones included; 0 without these.
  [[nodiscard]] int64_t length() const {
    int64_t length = 0;
    for (const StepCache& c : caches_) length = std::max(length, c.past);
    for (const Slot& s : slots_) length = std::max(length, s.steps());
    return length;
  }
  /// The bytes of pages and values; shared ones count for each fork.
  [[nodiscard]] int64_t bytes() const {
    int64_t bytes = 0;
    for (const StepCache& c : caches_) bytes += c.rows.bytes();
    for (const Slot& s : slots_)
      for (const Value* v : {&s.value, &s.spare})
        bytes += s.whole && v->is_tensor() ? v->tensor().bytes() : 0;
    return bytes;
  }
  /// A state that goes on from here by itself. It shares the pages that both have.
  [[nodiscard]] State fork() const {
    State copy(options_, keep_);
    copy.slots_ = slots_, copy.caches_ = caches_;
    for (Slot& s : copy.slots_) s.spare = {};
    return copy;
  }
  /// The name of a past that truncation cannot cut from `steps` steps: a cache of another length, or a value
  /// whose step axis is unknown or has another extent. Pasts into which runs write rows do not count, unless
  /// these replace earlier ones. Null: there is none.
  [[nodiscard]] const std::string* past_without(int64_t steps) const {
    const std::size_t k = slot_without(steps);
    return k < slots_.size() ? &slots_[k].pair.past : nullptr;
  }
  /// Forgets the steps from `length` on. The last run's steps can always be cut off; earlier ones may be
  /// among those that a window of attention has released. Error{invalid_argument} where a past has not got
  /// length() steps (past_without), where they were released, and for a negative length.
  void truncate(int64_t length);
  /// Forgets everything.
  void clear() {
    for (Slot& s : slots_) s = Slot{std::move(s.pair)};
    for (StepCache& c : caches_) c = no_steps();
  }

 private:
  friend class Session;
  bool has_past(std::string_view name) const {
    return std::ranges::any_of(slots_, [&](const Slot& s) { return s.pair.past == name; });
  }
  bool has_value(std::string_view past) const {
    for (std::size_t k = 0; k < slots_.size(); ++k)
      if (slots_[k].pair.past == past && (slots_[k].whole || caches_[2 * k].past > 0)) return true;
    return false;
  }
  struct Slot {
    StatePair pair;
    Value value{}, spare{};  // of a past that is no cache, and memory for the next one
    bool whole = false;      // a run has given it a value
    bool updated = false;    // runs write rows of it
    bool dropped = false;    // in place of earlier ones
    bool stacked = false;    // its cache's second one has values, in place of one tensor of both
    bool columns = false;    // its cache has the transpose of the past, whose steps are the last axis
    bool started = false;    // its cache began with steps that the run under way was given
    int axis = -1;           // of its steps; -1: not known
    int64_t steps() const {  // -1: not known
      const bool known = whole && !updated && !pair.constant && value.is_tensor() && axis >= 0;
      return known && axis < value.tensor().rank() ? value.tensor().extents()[axis] : -1;
    }
  };
  class Run;

  /// The number of the past that past_without names, or of slots.
  std::size_t slot_without(int64_t steps) const {
    const auto lacks = [&](std::size_t k) {
      const Slot& s = slots_[k];
      const bool value = s.whole && !s.updated && !s.pair.constant;
      return value || s.dropped ? s.steps() != steps
                                : caches_[2 * k].past > 0 && caches_[2 * k].past != steps;
    };
    std::size_t k = 0;
    while (k < slots_.size() && !lacks(k)) ++k;
    return k;
  }
  struct Aside {  // the steps of a past that a run under way has begun again
    std::size_t number;
    Slot slot;
    StepCache first, second;
  };
  State(const StateOptions& options, const Pass* keep) : options_(options), keep_(keep) {}
  Allocator& allocator() const { return options_.allocator ? *options_.allocator : default_allocator(); }
  // Make the steps of a past a cache, or a value, for a program that has it so.
  void make_cache(std::size_t k, const CachePair& pair);
  void make_value(std::size_t k, DType type);
  // Puts the steps of a past aside for a run that makes all of its steps itself, until that has succeeded.
  void begin_again(std::size_t k);
  // Makes the steps of a tensor the past's cache, or two if it stacks keys and values.
  void start_cache(std::size_t k, const AnyTensor& given, const CachePair& pair);
  StepCache no_steps() const { return {PagedRows(options_.page_steps, allocator(), options_.cache_type)}; }

  StateOptions options_;
  const Pass* keep_;  // keep_caches, so that sessions without states do not compile its operators
  std::vector<Slot> slots_;
  std::vector<StepCache> caches_;  // two for each slot, the second of which has values if it is `stacked`
  std::vector<Aside> aside_;       // restored if the run fails
  std::vector<Storage> lent_;      // for each result, the past's memory that it may use
  std::vector<Value> results_;     // of a run: its outputs, then the presents that are no caches
  std::atomic<bool> running_ = false;
};

}  // namespace tenon::TENON_ABI
