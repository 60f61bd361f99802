// Frame: runs a program with one plan, one run at a time, and keeps its memory between runs. Runner: keeps
// frames for several sets of extents and for concurrent threads.
#pragma once

#include <mutex>

#include "tenon/base/parallel.hpp"
#include "tenon/graph/limits.hpp"
#include "tenon/graph/plan.hpp"
#include "tenon/graph/text.hpp"

namespace tenon::TENON_ABI {

namespace detail {

class Frame final : public op::Context {
 public:
  /// `given` has the types and extents of the program's given values. The memory must fit `budget`.
  Frame(const Program& program, std::vector<op::Info> given, Allocator& allocator, const Budget* budget)
      : op::Context(allocator),
        program_(program),
        allocator_(&allocator),
        plan_(Planner(program, given).take()),
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
  /// it.
  void run(std::span<const Value* const> inputs, const op::Context* outer, std::span<Value> outputs,
           Profile* profile, Budget* budget) {
    const Bounded bounded(*this, budget, plan_.arena_bytes);
    try {
      bind(inputs, outer, outputs);
      run_bound(outputs, profile);
    } catch (...) {
      unbind();
      std::ranges::fill(outputs, Value());
      throw;
    }
    unbind();
  }

  /// Binds the inputs, and memory for the outputs, for the following runs. Until `unbind`, each run writes
  /// the outputs' memory. Constant outputs get their values here.
  void bind(std::span<const Value* const> inputs, std::span<Value> outputs, Budget* budget) {
    const Bounded bounded(*this, budget, plan_.arena_bytes);
    bind(inputs, nullptr, outputs);
  }
  /// Runs with the bound values.
  void run(std::span<Value> outputs, Budget* budget) {
    const Bounded bounded(*this, budget, planned_bytes_);
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

  // Refuses a run if the planned values alone take too much memory. Names the node of the largest one.
  void admit(const Budget& budget) const {
    if (budget.meter() == nullptr || planned_bytes_ <= budget.meter()->left()) return;
    const Graph::Node* greatest = nullptr;
    int64_t most = -1;
    for (const Graph::Node& n : program_.nodes())
      for (ValueId v : n.outputs)
        if (const int64_t bytes = bytes_of(v); bytes > most) greatest = &n, most = bytes;
    throw Error(ErrorCode::limit, greatest ? describe(*greatest) : "plan",
                str_cat("the values of the run take ", planned_bytes_, " bytes, this node's ", most, ", and ",
                        budget.meter()->left(), " are left of the bound of ", budget.meter()->bound()));
  }
  // The planned memory: the arena, strings and outputs.
  int64_t planned_bytes() const {
    int64_t bytes = plan_.arena_bytes;
    for (std::size_t v = 0; v < plan_.values.size(); ++v) {
      const Plan::Entry& e = plan_.values[v];
      if (e.root != static_cast<int>(v) || (e.place != Place::own && e.place != Place::output)) continue;
      const int64_t more = bytes_of(static_cast<ValueId>(v));
      bytes = more > no_bound - bytes ? no_bound : bytes + more;
    }
    return bytes;
  }
  int64_t bytes_of(ValueId v) const {
    const Plan::Entry& e = entry(v);
    if (e.place != Place::arena && e.place != Place::own && e.place != Place::output) return 0;
    return packed_bytes(element_count(e.info.dims.extents()), e.info.type.element);
  }

  void bind(std::span<const Value* const> inputs, const op::Context* outer, std::span<Value> outputs) {
    for_each_given(program_, inputs, outer, [&](std::size_t k, const Value& v) {
      Value& given = at(program_.given()[k].value);
      given = v;
      // A result that shares the caller's elements must not allow writing them. Values of an outer run are
      // its own.
      if (outer == nullptr && given.is_tensor()) given.tensor().forbid_writing();
    });
    bind_outputs(outputs);
  }
  void unbind() {
    for (const Program::Given& g : program_.given())
      if (entry(g.value).place == Place::given) at(g.value) = Value();
    for (Storage& s : outputs_) s = Storage();
  }
  void run_bound(std::span<Value> outputs, Profile* profile) {
    for (std::size_t o = 0; o < outputs.size(); ++o)
      if (entry(program_.outputs()[o]).place == Place::run_time) keep(std::exchange(outputs[o], Value()));
    Budget* const budget = budget_;
    std::size_t s = 0;
    try {
      if (profile == nullptr) {
        for (; s < steps_.size(); ++s) {
          if (budget != nullptr) budget->check();
          execute(steps_[s]);
        }
      } else {
        const auto begin = std::chrono::steady_clock::now();
        for (; s < steps_.size(); ++s) {
          if (budget != nullptr) budget->check();
          const auto start = std::chrono::steady_clock::now();
          execute(steps_[s]);
          const auto stop = std::chrono::steady_clock::now();
          const Graph::Node& n = *steps_[s].node;
          const std::chrono::duration<double, std::micro> since = start - begin, took = stop - start;
          profile->entries.push_back({n.name, std::string(n.op.spec().name), since.count(), took.count()});
        }
      }
    } catch (const Error& e) {
      const Graph::Node& n = *steps_[s].node;
      release();
      rethrow_at(n, e);
    } catch (...) {
      release();
      throw;
    }
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const ValueId id = program_.outputs()[o];
      if (entry(id).place != Place::output && entry(id).place != Place::fixed) outputs[o] = owned(at(id));
    }
    release();
  }

  Value& at(ValueId v) { return values_[static_cast<std::size_t>(v)]; }
  const Plan::Entry& entry(ValueId v) const { return plan_.values[static_cast<std::size_t>(v)]; }

  /// Counts the run's memory; null if it is unbounded.
  Meter* meter() const { return budget_ == nullptr ? nullptr : budget_->meter(); }

  static bool borrowed(const Storage& s) { return s.use_count() == 0 && s.size_bytes() > 0; }

  // Makes a value's tensor now if the plan already fixes its memory; output memory is bound in each run.
  void place(ValueId v) {
    const Plan::Entry& e = entry(v);
    const op::Info& i = e.info;
    switch (e.place) {
      case Place::fixed:
        if (program_.stored(v)) {
          at(v) = program_.stored(v).read_only();  // results may share it
        } else if (e.root == v) {
          at(v) = integers(i);
        } else {
          at(v) = at(e.root).tensor().reshaped(i.dims.extents());
        }
        break;
      case Place::arena: {
        const int64_t bytes = packed_bytes(element_count(i.dims.extents()), i.type.element);
        std::byte* start =
            arena_.as<std::byte>() + plan_.values[static_cast<std::size_t>(e.root)].offset + e.shift;
        at(v) = AnyTensor(i.type.element, i.dims.extents(),
                          Storage::borrow(start, static_cast<std::size_t>(bytes)));
        break;
      }
      case Place::own:
        at(v) = e.root == v ? AnyTensor::uninitialized(i.type.element, i.dims.extents(), allocator())
                            : at(e.root).tensor().reshaped(i.dims.extents());
        break;
      case Place::output: bound_.push_back(v); break;
      case Place::none:
      case Place::given:
      case Place::run_time: break;
    }
  }

  AnyTensor integers(const op::Info& i) {
    AnyTensor t = AnyTensor::uninitialized(i.type.element, i.dims.extents(), allocator());
    for (int k = 0; k < i.propagated.size(); ++k) {
      if (i.type.element == DType::int64) t.out().as<int64_t>()[k] = i.propagated[k].value();
      else t.out().as<int32_t>()[k] = static_cast<int32_t>(i.propagated[k].value());
    }
    return t;
  }

  void add_step(int s) {
    const Action action = plan_.actions[static_cast<std::size_t>(s)];
    if (action == Action::skip) return;
    const Graph::Node& n = program_.nodes()[static_cast<std::size_t>(s)];
    steps_.push_back({action, &n, n.op.call(), {}, {}, {}});
    if (action == Action::rename) renamed_.push_back(n.outputs[0]);
    if (action == Action::infer || action == Action::fresh)
      made_.insert(made_.end(), n.outputs.begin(), n.outputs.end());
    for (ValueId v : n.inputs) in_.push_back(v < 0 ? nullptr : &at(v));
    for (ValueId v : n.outputs) out_.push_back(entry(v).place == Place::none ? nullptr : &at(v));
    counts_.push_back({n.inputs.size(), n.outputs.size(), 0});
    auto dies = [&](ValueId v) {
      if (v >= 0 && entry(v).place == Place::run_time && entry(v).last <= s)
        dying_.push_back(v), ++counts_.back()[2];
    };
    for (ValueId v : n.inputs) dies(v);
    for (ValueId v : n.captures) dies(v);
    infer_in_.resize(std::max(infer_in_.size(), n.inputs.size()));
    infer_out_.resize(std::max(infer_out_.size(), n.outputs.size()));
  }

  // Called when the lists have stopped growing, so that spans into them stay valid.
  void link() {
    std::size_t i = 0, o = 0, d = 0;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const auto [in, out, dying] = counts_[s];
      steps_[s].in = std::span(in_).subspan(i, in);
      steps_[s].out = std::span(out_).subspan(o, out);
      steps_[s].dying = std::span(dying_).subspan(d, dying);
      i += in, o += out, d += dying;
    }
    is_output_ = program_.outputs();
  }

  void bind_outputs(std::span<Value> outputs) {
    bool moved = false;  // since the last run
    for (ValueId v : bound_) {
      const Plan::Entry& e = entry(v);
      if (e.root != v) continue;
      Storage& storage = outputs_[static_cast<std::size_t>(e.output)];
      const int64_t count = element_count(e.info.dims.extents());
      const DType d = e.info.type.element;
      const auto bytes = static_cast<std::size_t>(packed_bytes(count, d));
      Value& old = outputs[static_cast<std::size_t>(e.output)];
      if (old.is_tensor() && old.tensor().dtype() == d && old.tensor().storage().unique() &&
          old.tensor().storage().writable() && old.tensor().storage().size_bytes() == bytes)
        storage = reserved(old.tensor().storage());
      else if (d == DType::string) storage = Storage::make<std::string>(count);
      else storage = Storage::allocate(bytes, allocator());
      old = Value();
      moved |= !at(v) || at(v).tensor().data() != storage.data();
    }
    for (std::size_t k = 0; moved && k < bound_.size(); ++k) {
      const Plan::Entry& e = entry(bound_[k]);
      Storage& s = memory(bound_[k]);
      at(bound_[k]) = AnyTensor(e.info.type.element, e.info.dims.extents(),
                                Storage::borrow(s.as<void>(), s.size_bytes()));
    }
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const ValueId id = program_.outputs()[o];
      const Plan::Entry& e = entry(id);
      if (e.place == Place::output)
        outputs[o] = AnyTensor(e.info.type.element, e.info.dims.extents(), memory(id));
      // A constant is cloned, because the caller may write to the result, which must not change the session.
      if (e.place == Place::fixed)
        outputs[o] = at(id).is_tensor() ? Value(at(id).tensor().clone(allocator())) : at(id);
    }
  }
  // Returns the storage, after charging its bytes to the run.
  const Storage& reserved(const Storage& s) {
    if (meter() == nullptr) return s;
    meter()->take(static_cast<int64_t>(s.size_bytes()));
    reserved_ += static_cast<int64_t>(s.size_bytes());
    return s;
  }
  /// The output memory that holds the value.
  Storage& memory(ValueId v) {
    return outputs_[static_cast<std::size_t>(plan_.values[static_cast<std::size_t>(entry(v).root)].output)];
  }

  // Nearly all steps of a run only compute and drop nothing: the other cases are out of line.
  void execute(const Step& s) {
    if (s.action == Action::compute && meter() == nullptr) s.call(*this, s.in, s.out);
    else perform_counted(s);
    for (ValueId v : s.dying) drop(v);
  }
  [[gnu::noinline]] void perform_counted(const Step& s) {
    const int64_t held = meter() == nullptr ? 0 : budget_->held();
    perform(s);
    if (meter() == nullptr) return;
    budget_->release(held);
    count_text(s);
  }
  void perform(const Step& s) {
    switch (s.action) {
      case Action::compute: compute(s); break;
      case Action::rename: {
        const ValueId v = s.node->outputs[0];
        at(v) = s.in[0]->tensor().reshaped(entry(v).info.dims.extents());
        break;
      }
      case Action::infer: infer(s); break;
      case Action::fresh: fresh(s); break;
      case Action::skip: break;
    }
  }

  void compute(const Step& s) {
    if (meter() != nullptr) admit_text(s);
    s.call(*this, s.in, s.out);
  }
  // The extents depend on values that exist only in the run.
  void infer(const Step& s) {
    const Graph::Node& n = *s.node;
    for (std::size_t k = 0; k < s.in.size(); ++k) infer_in_[k] = s.in[k] ? op::info_of(*s.in[k]) : op::Info{};
    for (std::size_t k = 0; k < s.out.size(); ++k) infer_out_[k] = op::Info{};
    const std::span<const op::Info> in(infer_in_.data(), s.in.size());
    const std::span<op::Info> out(infer_out_.data(), s.out.size());
    const op::Message m = n.op.infer(in, out);
    if (!m.empty()) op::raise_rule(n.op.spec(), in, m);
    for (std::size_t k = 0; k < out.size(); ++k) {
      if (s.out[k] == nullptr) continue;
      *s.out[k] = allocate(out[k].type.element, op::known_extents(n.op.spec(), out[k]));
      check_planned(n, k, *s.out[k]);
    }
    compute(s);
  }
  // Later steps rely on the types and extents in the plan, so the results must match them.
  void check_planned(const Graph::Node& n, std::size_t k, const Value& v) const {
    op::check_result(n.op.spec(), k, entry(n.outputs[k]).info, v);
  }

  void fresh(const Step& s) {
    const Graph::Node& n = *s.node;
    compute(s);
    for (std::size_t k = 0; k < s.out.size(); ++k) {
      if (s.out[k] == nullptr) continue;
      if (!*s.out[k] && program_.used(n.outputs[k]))
        op::raise(ErrorCode::invalid_model, n.op.spec().name, "result ", k, " was not given a value");
      *s.out[k] = owned(*s.out[k]);
      if (*s.out[k]) check_planned(n, k, *s.out[k]);
    }
  }

  // --- characters of strings, in runs whose memory has a bound ---

  // Refuses strings that might exceed the bound before they are made: each element may hold a copy of one
  // long string.
  void admit_text(const Step& s) const {
    int64_t most = 0, strings = 0;
    for (std::size_t k = 0; k < s.out.size(); ++k) {
      const Value* const v = s.out[k];
      if (v == nullptr || entry(s.node->outputs[k]).info.type != Type(DType::string)) continue;
      if (s.action != Action::fresh) {
        strings += v->tensor().size();
        continue;
      }
      for (const Value* x : s.in)  // may hold one tensor many times
        if (x != nullptr && x->is_sequence()) most += text_bytes(*x);
    }
    if (strings > 0) most = most_text(s.node->op, s.in, strings);
    if (most > meter()->left())
      throw Error(ErrorCode::limit, {},
                  str_cat("strings of up to ", most, " bytes, and ", meter()->left(),
                          " are left of the bound of ", meter()->bound()));
  }
  void count_text(const Step& s) {
    for (std::size_t k = 0; k < s.out.size(); ++k) {
      if (s.out[k] == nullptr || entry(s.node->outputs[k]).root != s.node->outputs[k]) continue;
      const int64_t bytes = text_bytes(*s.out[k]);
      if (bytes == 0) continue;
      meter()->take(bytes);
      reserved_ += bytes;
      texts_[s.node->outputs[k]] = bytes;
    }
  }
  void forget_text(ValueId v) {
    const auto it = texts_.find(v);
    if (it == texts_.end()) return;
    meter()->give(it->second);
    reserved_ -= it->second;
    texts_.erase(it);
  }
  // Frees the strings that would stay in the frame's own memory after a run, uncounted.
  void clear_text() {
    for (const auto& [v, bytes] : texts_) {
      if (entry(v).place != Place::own) continue;
      for (std::string& text : at(v).tensor().out().as<std::string>()) std::string().swap(text);
    }
    texts_.clear();
  }

  // A value that stays valid without the arena and the caller's operands: borrowed memory is copied.
  Value owned(const Value& v) const {
    return v.is_tensor() && borrowed(v.tensor().storage()) ? Value(v.tensor().clone(allocator())) : v;
  }

  // Takes memory from `spare_` if a block fits, so that repeated runs of one size stop allocating.
  AnyTensor allocate(DType d, const Extents& extents) {
    if (d == DType::string) return AnyTensor::uninitialized(d, extents, allocator());
    const auto bytes = static_cast<std::size_t>(packed_bytes(element_count(extents), d));
    auto best = spare_.end();
    for (auto k = spare_.begin(); k != spare_.end(); ++k)
      if (k->storage.size_bytes() >= bytes &&
          (best == spare_.end() || k->storage.size_bytes() < best->storage.size_bytes()))
        best = k;
    if (best == spare_.end() || best->storage.size_bytes() > 2 * bytes + 4096)
      return {d, extents, Storage::allocate(bytes, allocator())};
    std::swap(*best, spare_.back());
    Storage s = std::move(spare_.back().storage);
    spare_.pop_back();
    return {d, extents, std::move(s)};
  }

  [[gnu::noinline]] void drop(ValueId v) {
    if (std::find(is_output_.begin(), is_output_.end(), v) != is_output_.end()) return;
    keep(std::exchange(at(v), Value()));
    if (!texts_.empty()) forget_text(v);
  }
  void keep(const Value& dead) {
    if (!dead.is_tensor() || dead.tensor().dtype() == DType::string || spare_.size() >= max_spare) return;
    if (meter() != nullptr) return;  // memory that is kept stays counted
    if (dead.tensor().storage().unique() && dead.tensor().storage().writable())
      spare_.push_back({dead.tensor().storage(), runs_});
  }

  // Drops the handles on run-time results.
  void release() {
    for (ValueId v : renamed_) at(v) = Value();
    for (ValueId v : made_)
      if (at(v)) release_run_time(v);
    // Frees the blocks that the last two runs did not use.
    std::erase_if(spare_, [&](const Spare& s) { return s.run + 1 < runs_; });
    ++runs_;
  }
  void release_run_time(ValueId v) {
    if (std::find(is_output_.begin(), is_output_.end(), v) != is_output_.end()) at(v) = Value();
    else drop(v);
  }

  static constexpr std::size_t max_spare = 64;

  const Program& program_;
  Allocator* allocator_;  // of unbounded runs
  Budget* budget_ = nullptr;
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
  struct Spare {
    Storage storage;
    int64_t run;  // the last run that used the storage
  };
  std::vector<Spare> spare_;
  int64_t runs_ = 0;
  Storage arena_;
};

/// Runs one program for any extents. Any number of threads may call `run` concurrently.
class Runner {
 public:
  Runner(Program program, Allocator& allocator) : program_(std::move(program)), allocator_(&allocator) {
    idle_.reserve(max_idle + 1);
  }

  const Program& program() const { return program_; }
  Allocator& allocator() const { return *allocator_; }

  void run(std::span<const Value* const> inputs, const op::Context* outer, std::span<Value> outputs,
           Profile* profile, Budget* budget) {
    std::unique_ptr<Frame> frame = take(inputs, outer, budget);
    const bool metered = budget != nullptr && budget->meter() != nullptr;
    const int64_t most = !metered ? no_bound : outer != nullptr ? idle_of_body : budget->meter()->bound();
    try {
      frame->run(inputs, outer, outputs, profile, budget);
    } catch (...) {
      give(std::move(frame), most);
      throw;
    }
    give(std::move(frame), most);
  }

  /// A frame for inputs of these types and extents, for the caller's exclusive use.
  std::unique_ptr<Frame> take(std::span<const Value* const> inputs, const op::Context* outer,
                              const Budget* budget) {
    {
      const std::lock_guard lock(mutex_);
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
    }
    std::vector<op::Info> given(program_.given().size());
    Frame::for_each_given(program_, inputs, outer, [&](std::size_t k, const Value& v) {
      given[k] = op::info_of(v);
      given[k].data = nullptr;
      if (!v.is_tensor()) given[k].dims = {};
    });
    return std::make_unique<Frame>(program_, std::move(given), *allocator_, budget);
  }

  /// The plan for given values of these types and extents.
  Plan plan(std::span<const op::Info> given) const { return Planner(program_, given).take(); }

 private:
  static bool same(const op::Info& i, const Value& v) {
    if (!v.is_tensor()) return i.type == v.type() && !i.dims.ranked();
    return i.type == Type(v.tensor().dtype()) && i.dims == Dims(v.tensor().extents());
  }
  // Keeps a frame for the next run of its extents. The least recently used ones are dropped beyond `most`
  // bytes of arenas.
  void give(std::unique_ptr<Frame> frame, int64_t most) {
    std::array<std::unique_ptr<Frame>, max_idle + 1> old;  // freed outside the lock
    const std::lock_guard lock(mutex_);
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
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> idle_;
};

}  // namespace detail
}  // namespace tenon::TENON_ABI
