// Frame: runs a program with one plan, one run at a time, and keeps its memory between runs.
#pragma once

#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/compiler.hpp"
#include "tenon/graph/limits.hpp"
#include "tenon/graph/plan.hpp"
#include "tenon/graph/spare_memory.hpp"
#include "tenon/tensor/paged_rows.hpp"

namespace tenon::TENON_ABI::detail {

/// What a run uses of a State.
struct RunState {
  std::span<StepCache> caches{};
  bool grows = false;               ///< extents of inputs may grow from run to run
  std::span<const Storage> lent{};  ///< for each output, memory that it lies in if the size fits; empty: none
};

class Frame final : public op::Context {
 public:
  /// `given` has the types and extents of the program's given values. The memory must fit `budget`.
  Frame(const Program& program, std::vector<op::Info> given, Allocator& allocator, const Budget* budget)
      : op::Context(allocator),
        program_(program),
        allocator_(&allocator),
        plan_(plan_of_run(program, given)),
        planned_bytes_(planned_bytes()),
        given_(std::move(given)) {
    if (budget != nullptr) admit(*budget);
    values_.resize(program.values().size());
    outputs_.resize(program.outputs().size());
    arena_ = Storage::allocate(static_cast<std::size_t>(plan_.arena_bytes), allocator);
    for (std::size_t v = 0; v < values_.size(); ++v) place(static_cast<ValueId>(v));
    for (std::size_t s = 0; s < program.nodes().size(); ++s) add_step(static_cast<int>(s));
    link();
  }

  const Plan& plan() const { return plan_; }
  Budget* budget() const override { return budget_; }
  StepCache* cache(int64_t number) const override {
    return static_cast<std::size_t>(number) < state_.caches.size()
               ? &state_.caches[static_cast<std::size_t>(number)]
               : nullptr;
  }
  const Value* value(ValueId v) const override { return &values_[static_cast<std::size_t>(v)]; }
  /// The types and extents of the given values for which the frame was planned.
  const std::vector<op::Info>& given() const { return given_; }

  /// Calls f(k, value) for the given values that are present in a run; k is the index in Program::given().
  template <class F>
  static void for_each_given(const Program& program, std::span<const Value* const> inputs,
                             const op::Context* outer, F f) {
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k] && *inputs[k]) f(k, *inputs[k]);
    for (std::size_t k = inputs.size(); outer != nullptr && k < program.given().size(); ++k)
      f(k, *outer->value(program.given()[k].outer));
  }

  /// `inputs` are the program's inputs in order; constants and fallbacks are empty. Results replace the
  /// values in `outputs`. The memory of an old value is reused if its size fits and no other handle refers to
  /// it. `state` is what the run uses of one.
  void run(std::span<const Value* const> inputs, const op::Context* outer, std::span<Value> outputs,
           Profile* profile, Budget* budget, const RunState& state);

  /// Binds the inputs, and memory for the outputs, for the following runs. Until `unbind`, each run writes
  /// the outputs' memory. Constant outputs get their values here.
  void bind(std::span<const Value* const> inputs, std::span<Value> outputs, Budget* budget) {
    const Bounded bounded(*this, budget, plan_.arena_bytes);
    bind(inputs, nullptr, outputs);
  }
  /// Runs with the bound values. `outputs` comes from `bind`; values in it that the caller has taken or
  /// replaced are given again.
  void run(std::vector<Value>& outputs, Budget* budget) {
    const Bounded bounded(*this, budget, planned_bytes_);
    outputs.resize(program_.outputs().size());
    for (std::size_t o = 0; o < outputs.size(); ++o) give_again(o, outputs[o]);
    run_bound(outputs, nullptr);
  }

 private:
  struct Step {
    Action action;
    const Graph::Node* node;
    AnyOperator::Call call;  // of the node's operator, so that a run does not touch the node
    std::span<const Value* const> in;
    std::span<Value* const> out;
    std::span<const ValueId> dying;  // run-time values that no later step reads
  };

  // Applies a run's bounds to a frame; the run is charged `bytes` that the frame already holds.
  class Bounded {
   public:
    Bounded(Frame& frame, Budget* budget, int64_t bytes) : frame_(frame) {
      if (budget == nullptr) return;
      frame_.admit(*budget);
      if (Meter* const meter = budget->meter()) {
        meter->take(bytes);
        frame_.reserved_ = bytes;
        frame_.spare_.clear();  // uncounted memory
        frame_.set_allocator(*meter);
      }
      frame_.budget_ = budget;
    }
    ~Bounded() {
      if (frame_.budget_ == nullptr) return;
      if (Meter* const meter = frame_.budget_->meter()) {
        meter->give(frame_.reserved_);
        frame_.clear_text();
      }
      frame_.set_allocator(*frame_.allocator_);
      frame_.budget_ = nullptr;
    }
    Bounded(const Bounded&) = delete;
    Bounded& operator=(const Bounded&) = delete;

   private:
    Frame& frame_;
  };

  // --- memory ---

  // Refuses a run if the planned values alone take too much memory. Names the node of the largest one.
  void admit(const Budget& budget) const;
  // The planned memory: the arena, strings and outputs.
  int64_t planned_bytes() const;
  int64_t bytes_of(ValueId v) const;

  void bind(std::span<const Value* const> inputs, const op::Context* outer, std::span<Value> outputs);
  void unbind();

  Value& at(ValueId v) { return values_[static_cast<std::size_t>(v)]; }
  const Plan::Entry& entry(ValueId v) const { return plan_.values[static_cast<std::size_t>(v)]; }

  /// Counts the run's memory; null if it is unbounded.
  Meter* meter() const { return budget_ == nullptr ? nullptr : budget_->meter(); }

  static bool borrowed(const Storage& s) { return s.use_count() == 0 && s.size_bytes() > 0; }

  // Makes a value's tensor now if the plan already fixes its memory; output memory is bound in each run.
  void place(ValueId v);
  AnyTensor integers(const op::Info& i);
  void bind_outputs(std::span<Value> outputs);
  // Output `o`, unless its value is known only after the run.
  void give(std::size_t o, Value& output);
  void give_again(std::size_t o, Value& output);
  // Returns the storage, after charging its bytes to the run.
  const Storage& reserved(const Storage& s);
  // Memory lent for output `k`, or null.
  const Storage* lent(std::size_t k, int64_t bytes) const {
    return k < state_.lent.size() && state_.lent[k].size_bytes() > 0 &&
                   state_.lent[k].size_bytes() == static_cast<std::size_t>(bytes)
               ? &state_.lent[k]
               : nullptr;
  }
  /// The output memory that holds the value.
  Storage& memory(ValueId v);

  // --- steps ---

  void add_step(int s);
  // Called when the lists have stopped growing, so that spans into them stay valid.
  void link();
  void run_bound(std::span<Value> outputs, Profile* profile);
  // Nearly all steps of a run only compute and drop nothing: the other cases are out of line.
  void execute(const Step& s);
  TENON_NOINLINE void perform_counted(const Step& s) {
    Meter* const bytes = meter();
    const int64_t held = bytes == nullptr ? 0 : budget_->held();
    perform(s);
    if (bytes == nullptr) return;
    budget_->release(held);
    count_text(s, *bytes);
  }
  void perform(const Step& s);
  void compute(const Step& s);
  // Asks the node's rule with the run's extents and values. Error if it refuses them.
  void ask(const Step& s);
  // The rule may refuse operands whose extents the plan did not know.
  void check(const Step& s);
  // The extents depend on values that exist only in the run.
  void infer(const Step& s);
  // The error of a step, in terms of the graph if a rule has refused.
  [[noreturn, gnu::cold]] void raise_at(const Step& s, const Error& e);
  // Later steps rely on the types and extents in the plan, so the results must match them.
  void check_planned(const Graph::Node& n, std::size_t k, const Value& v) const;
  void fresh(const Step& s);

  // --- characters of strings, in runs whose memory has a bound ---

  // Refuses strings that might exceed the bound before they are made: each element may hold a copy of one
  // long string.
  void admit_text(const Step& s) const;
  void count_text(const Step& s, Meter& meter);
  void forget_text(ValueId v);
  // Frees the strings that would stay in the frame's own memory after a run, uncounted.
  void clear_text();

  // A value that stays valid without the arena and the caller's operands: borrowed memory is copied.
  Value owned(const Value& v) const {
    return v.is_tensor() && borrowed(v.tensor().storage()) ? Value(v.tensor().clone(allocator())) : v;
  }

  TENON_NOINLINE void drop(ValueId v) {
    if (std::find(is_output_.begin(), is_output_.end(), v) != is_output_.end()) return;
    if (at(v).is_tensor()) dropped_.emplace_back(v, at(v).tensor().extents());
    keep(std::exchange(at(v), Value()));
    if (!texts_.empty()) forget_text(v);
  }
  void keep(const Value& dead) {
    if (meter() != nullptr) return;  // memory that is kept stays counted
    if (dead.is_tensor()) spare_.keep(dead.tensor());
  }

  // Drops the handles on run-time results.
  void release();
  void release_run_time(ValueId v);

  const Program& program_;
  Allocator* allocator_;  // of unbounded runs
  Budget* budget_ = nullptr;
  RunState state_;
  int64_t reserved_ = 0;              // bytes counted in the budget's meter, but not allocated from it
  std::map<ValueId, int64_t> texts_;  // the part of these that are characters of values
  Plan plan_;
  int64_t planned_bytes_;
  std::vector<op::Info> given_;
  std::vector<Value> values_;
  std::vector<Storage> outputs_;  // memory of the outputs while they are bound
  std::vector<ValueId> bound_;    // values whose memory is an output's
  std::vector<ValueId> is_output_;
  std::vector<Step> steps_;
  std::vector<ValueId> renamed_, made_;  // the results of steps that rename, and of steps that allocate
  std::vector<const Value*> in_;
  std::vector<Value*> out_;
  std::vector<ValueId> dying_;
  std::vector<std::array<std::size_t, 3>> counts_;
  std::vector<op::Info> infer_in_, infer_out_;
  std::vector<std::pair<ValueId, Extents>> dropped_;  // values that only the run knew; for messages
  bool refused_ = false;                              // a rule has ended the run
  SpareMemory spare_;
  Storage arena_;
};

}  // namespace tenon::TENON_ABI::detail

#include "tenon/graph/frame_memory.hpp"
#include "tenon/graph/frame_run.hpp"
