// Function bodies of session.hpp.
#pragma once

#include <exception>

#include "tenon/base/platform/condition.hpp"
#include "tenon/base/platform/exceptions.hpp"
#include "tenon/graph/input_check.hpp"
#include "tenon/graph/session.hpp"
#include "tenon/graph/shared_constants.hpp"
#include "tenon/graph/state_run.hpp"

#ifdef TENON_COMPILED_SESSION
#define TENON_SESSION
#else
#define TENON_SESSION inline
#endif

namespace tenon::TENON_ABI {

// The state that lets a Binding outlive its session.
struct Binding::Bound {
  std::shared_ptr<const void> variant;  // with the program that the frame runs
  std::shared_ptr<ThreadPool> pool;
  Executor* executor;
  Allocator* allocator;
  RunOptions options;
  std::unique_ptr<detail::Frame> frame;
};

TENON_SESSION Binding::Binding() noexcept = default;
TENON_SESSION Binding::Binding(Binding&&) noexcept = default;
TENON_SESSION Binding& Binding::operator=(Binding&&) noexcept = default;
TENON_SESSION Binding::~Binding() = default;

struct Session::Core {
  // The graph compiled for one set of outputs, one set of replaced inputs (inputs whose default values the
  // run overrides) and, with a state, the values of the inputs that choose branches.
  struct Variant {
    std::vector<std::string> outputs;
    std::vector<ValueId> given;
    std::vector<StatePair> pairs;       // of the run's state
    const Pass* keep = nullptr;         // its pass; null if the run has no state
    LastSteps last;                     // of these, the output and the pass
    std::vector<Condition> conditions;  // of a run with a state
    std::vector<std::string> shown;     // what the run returns, if it has a state
    // Written by one thread, read by others once ready:
    std::vector<CachePair> caches;   // one for each pair
    std::vector<std::size_t> pasts;  // their indices among the graph's inputs
    std::vector<bool> needed;        // whether the outputs depend on each input of the graph
    std::optional<detail::Runner> runner;
    void take_pairs(const State& state) {
      keep = state.keep_;
      for (const State::Slot& slot : state.slots_) pairs.push_back(slot.pair);
    }
    bool serves(const State* state, const LastSteps& steps) const {
      if (last.output != steps.output) return false;
      if (state == nullptr || keep == nullptr) return state == nullptr && keep == nullptr;
      return std::ranges::equal(pairs, state->slots_, {}, {}, &State::Slot::pair);
    }
    /// How many of the program's given values are no inputs of the graph.
    std::size_t added() const { return runner->program().given().size() - needed.size(); }
    // Guarded by Core::mutex:
    enum class Progress : uint8_t { compiling, ready, failed, given_up } progress = Progress::compiling;
    // If it failed. Each waiting run throws its own copy of an Error; other exceptions are shared.
    std::optional<Error> error;
    std::exception_ptr other;
  };

  Core(Graph of, SessionOptions with);

  const std::vector<std::string>& requested(const RunOptions& o) const {
    return o.outputs.empty() ? names : o.outputs;
  }
  /// Error{invalid_shape} if a run has made more rows of a past than the graph declares.
  void expect_rows(const StatePair& stated, const CachePair& pair, std::span<const Value> results) const;
  /// The names of the requested outputs without presents, unless these are requested by name.
  std::vector<std::string> shown_with(const std::vector<std::string>& requested,
                                      std::span<const StatePair> pairs) const;
  Allocator& allocator() const { return options.allocator ? *options.allocator : default_allocator(); }
  Executor* executor() const { return options.executor ? options.executor : tenon::detail::current_executor; }

  /// Calls f(variant, inputs, budget) with the variant for the options, the inputs in the graph's order, and
  /// the bounds (null: none). Gives `results` the names and the number of the requested outputs first.
  template <class F>
  void with_inputs(const Feeds& feeds, Outputs& results, const RunOptions& run, F f);
  /// Sets the named input, searching from input `first` on and then before it. Returns the index after it, at
  /// which feeds in the graph's order find their next input at once.
  std::size_t feed(std::string_view name, const Value& value, std::span<const Value*> inputs,
                   std::size_t first) const;

  void run(State& state, const Feeds& feeds, Outputs& results, const RunOptions& run);

  static int64_t default_folded(const Graph& graph);
  static std::vector<bool> needed_inputs(const Graph& graph, std::span<const ValueId> outputs);
  /// The inputs of one bool that choose among bodies whose results the graph returns, such as a merged
  /// decoder's use_cache_branch.
  std::vector<ValueId> choosing_inputs() const;
  std::shared_ptr<Variant> find_variant(const RunOptions& run, std::span<const ValueId> given,
                                        std::span<const Condition> conditions, const detail::Budget* budget);
  /// Compiles a variant that find_variant has registered, and notifies the runs that wait for it.
  void make(const std::shared_ptr<Variant>& variant, const detail::Budget* budget);
  /// The value of the graph with this name, or the output; -1 if there is none.
  ValueId find(const std::string& name) const;
  std::vector<ValueId> ids_of(const std::vector<std::string>& requested) const;
  /// The values that a variant with a state computes: the shown ones, then the presents.
  std::vector<ValueId> ids_with_state(Variant& variant) const;
  /// The index of the output of which the variant's runs want the last steps.
  std::size_t index_of_last(const Variant& variant) const;
  void compile(Variant& variant, const Graph& from, std::vector<ValueId> ids, const detail::Budget* budget,
               Graph* drained = nullptr, std::vector<PassReport>* receiver = nullptr) const;

  const std::shared_ptr<Graph> origin;  // of the programs
  Graph& graph;
  SessionOptions options;
  std::shared_ptr<ThreadPool> pool;
  std::vector<std::string> names;
  std::vector<ValueId> outputs;
  std::vector<ValueId> choosing;
  std::vector<PassReport> reports;
  mutable SharedConstants shared;
  std::shared_ptr<Variant> own;  // of the graph's outputs
  detail::Mutex mutex;
  detail::Condition compiled;                      // a variant is ready, or will not be
  std::vector<std::shared_ptr<Variant>> variants;  // the others, most recently used last
};

TENON_SESSION Session::Session(Session&&) noexcept = default;
TENON_SESSION Session& Session::operator=(Session&&) noexcept = default;
TENON_SESSION Session::~Session() = default;

TENON_SESSION Session::Core& Session::core() const {
  if (core_ == nullptr) raise(ErrorCode::invalid_argument, "session", "it was moved from");
  return *core_;
}
TENON_SESSION const Graph& Session::graph() const { return core().graph; }
TENON_SESSION const Program& Session::program() const { return core().own->runner->program(); }
TENON_SESSION const std::vector<PassReport>& Session::reports() const { return core().reports; }

TENON_SESSION void Binding::run() {
  if (bound_ == nullptr)
    raise(ErrorCode::invalid_argument, "binding", "it is bound to nothing, or was moved from");
  const ScopedPool use(bound_->executor);
  if (!detail::Budget::needed(bound_->options)) return bound_->frame->run(outputs_.values_, nullptr);
  detail::Budget budget(bound_->options, *bound_->allocator);
  bound_->frame->run(outputs_.values_, &budget);
}

TENON_SESSION Session::Session(Graph graph, SessionOptions options)
    : core_(std::make_unique<Core>(std::move(graph), std::move(options))) {}

TENON_SESSION Session::Core::Core(Graph of, SessionOptions with)
    : origin(std::make_shared<Graph>(std::move(of))),
      graph(*origin),
      options(std::move(with)),
      shared(options.packed.get()) {
  simd::check_request();
  if (options.executor == nullptr && options.threads > 1) {
    pool = std::make_shared<ThreadPool>(options.threads);
    options.executor = pool.get();
  }
  for (const auto& [name, id] : graph.outputs()) names.push_back(name), outputs.push_back(id);
  choosing = choosing_inputs();
  own = std::make_shared<Variant>();
  own->last = options.last;
  std::vector<ValueId> ids = outputs;
  if (options.state != nullptr) {
    own->take_pairs(*options.state);
    for (ValueId v : graph.inputs())
      if (graph.entry(v).optional && options.state->has_past(graph.entry(v).name)) own->given.push_back(v);
    ids = ids_with_state(*own);
    for (ValueId v : choosing) own->conditions.push_back({v, true});
    options.state = nullptr;  // it need not outlive the constructor
  }
  compile(*own, graph, std::move(ids), nullptr, options.source ? &graph : nullptr,
          options.explain ? &reports : nullptr);
  if (options.packed != nullptr) options.packed->finish();
}

TENON_SESSION Outputs Session::run(const Feeds& feeds, const RunOptions& options) const {
  Outputs outputs;
  run(feeds, outputs, options);
  return outputs;
}

TENON_SESSION void Session::run(const Feeds& feeds, Outputs& outputs, const RunOptions& options) const {
  if (options.state != nullptr) return core().run(*options.state, feeds, outputs, options);
  core().with_inputs(feeds, outputs, options,
                     [&](const std::shared_ptr<Core::Variant>& variant, std::span<const Value* const> inputs,
                         detail::Budget* budget) {
                       variant->runner->run(inputs, nullptr, outputs.values_, options.profile, budget);
                     });
}

TENON_SESSION void Session::Core::run(State& state, const Feeds& feeds, Outputs& results,
                                      const RunOptions& run) {
  State::Run current(state);
  with_inputs(feeds, results, run,
              [&](const std::shared_ptr<Variant>& variant, std::span<const Value* const> inputs,
                  detail::Budget* budget) {
                const std::vector<ValueId>& ids = variant->runner->program().outputs();
                const std::span<Value> all = current.results(results.values_, ids, variant->caches);
                variant->runner->run(inputs, nullptr, all, run.profile, budget, current.frame_state());
                for (std::size_t k = 0; k < variant->pairs.size(); ++k)
                  expect_rows(variant->pairs[k], variant->caches[k], all);
                current.commit(results.values_, ids, variant->caches);
              });
}

TENON_SESSION void Session::Core::expect_rows(const StatePair& stated, const CachePair& pair,
                                              std::span<const Value> results) const {
  if (!pair.updated) return;
  const Extents& rows = results[pair.output].tensor().extents();
  const Dims& declared = graph.entry(pair.past).info.dims;
  if (!declared.ranked() || declared.rank() != rows.size()) return;
  for (int d = 0; d < declared.rank(); ++d) {
    if (!declared[d].below(rows[d])) continue;
    const ValueId present = find(stated.present);
    const auto maker = std::ranges::find_if(graph.nodes(), [&](const GraphNode& n) {
      return std::ranges::find(n.outputs, present) != n.outputs.end();
    });
    raise(ErrorCode::invalid_shape, maker != graph.nodes().end() ? detail::describe(*maker) : "session", "'",
          stated.past, "' declares ", declared[d].value(), " rows, but with this run's there are ", rows[d]);
  }
}

TENON_SESSION std::vector<std::string> Session::Core::shown_with(const std::vector<std::string>& requested,
                                                                 std::span<const StatePair> pairs) const {
  if (!requested.empty()) return requested;
  std::vector<std::string> shown;
  for (const std::string& name : names)
    if (std::ranges::none_of(pairs, [&](const StatePair& p) { return p.present == name; }))
      shown.push_back(name);
  return shown;
}

TENON_SESSION Binding Session::bind(const Feeds& feeds, Outputs outputs, const RunOptions& options) const {
  if (options.state != nullptr)
    raise(ErrorCode::invalid_argument, "session",
          "a Binding has no state: each run gives new extents to pasts");
  Binding b;
  Core& s = core();
  RunOptions whole = options;
  whole.last = {};
  s.with_inputs(feeds, outputs, whole,
                [&](const std::shared_ptr<Core::Variant>& variant, std::span<const Value* const> inputs,
                    detail::Budget* budget) {
                  auto frame = variant->runner->take(inputs, nullptr, budget);
                  frame->bind(inputs, outputs.values_, budget);
                  b.bound_ = std::make_unique<Binding::Bound>(Binding::Bound{
                      variant, s.pool, s.executor(), &s.allocator(), options, std::move(frame)});
                });
  b.outputs_ = std::move(outputs);
  return b;
}

TENON_SESSION MemoryPlan Session::plan(const Feeds& feeds) const {
  const Core& s = core();
  std::vector<const Value*> inputs(s.graph.inputs().size());
  for (std::size_t next = 0; const auto& [name, value] : feeds) next = s.feed(name, value, inputs, next);
  detail::check_symbols(s.graph, inputs);
  const detail::Plan plan = detail::plan_of(program(), feeds);
  MemoryPlan result{.arena_bytes = plan.arena_bytes, .naive_bytes = plan.naive_bytes};
  for (const auto& e : plan.values) result.run_time_values += e.place == detail::Place::run_time;
  return result;
}

TENON_SESSION detail::Plan detail::plan_of(const Program& program, const Feeds& feeds) {
  std::vector<op::Info> given;
  for (const Program::Given& g : program.given()) {
    given.push_back(g.info);
    for (const auto& [name, value] : feeds)
      if (name == program.entry(g.value).name) given.back() = op::info_of(value), given.back().data = nullptr;
  }
  return Planner(program, given).take();
}

template <class F>
void Session::Core::with_inputs(const Feeds& feeds, Outputs& results, const RunOptions& run, F f) {
  std::optional<detail::Budget> budget;
  if (detail::Budget::needed(run)) budget.emplace(run, allocator());
  const std::size_t count = graph.inputs().size();
  Scratch scratch;
  const std::span given_values(scratch.take<const Value*>(static_cast<int64_t>(count) + 1), count + 1);
  const std::span inputs = given_values.first(count);
  std::fill(inputs.begin(), inputs.end(), nullptr);
  std::size_t next = 0;
  for (const auto& [name, value] : feeds) next = feed(name, value, inputs, next);
  detail::check_symbols(graph, inputs);
  if (run.last.count < 1)
    raise(ErrorCode::invalid_argument, "session", "the last ", run.last.count, " steps are no steps");
  // Inputs whose default values are overridden, in the graph's order.
  ValueId* const given = scratch.take<ValueId>(static_cast<int64_t>(count));
  std::size_t replaced = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const Graph::ValueEntry& e = graph.entry(graph.inputs()[k]);
    if (inputs[k] == nullptr && !e.optional) continue;
    const bool past = run.state != nullptr && run.state->has_past(e.name);
    if (past && inputs[k] != nullptr && run.state->has_value(e.name))
      raise(ErrorCode::invalid_argument, "session", "input '", e.name, "' is given by the state");
    if ((inputs[k] != nullptr || past) && e.optional) given[replaced++] = graph.inputs()[k];
  }
  Condition* const conditions = scratch.take<Condition>(static_cast<int64_t>(choosing.size()));
  std::size_t known = 0;
  for (std::size_t k = 0; run.state != nullptr && k < count; ++k)
    if (inputs[k] != nullptr && std::ranges::find(choosing, graph.inputs()[k]) != choosing.end())
      conditions[known++] = {graph.inputs()[k], *static_cast<const bool*>(inputs[k]->tensor().data())};
  // Held until the run ends, because other runs may evict it.
  const std::shared_ptr<Variant> variant =
      find_variant(run, {given, replaced}, {conditions, known}, budget ? &*budget : nullptr);
  for (std::size_t n = 0; n < variant->caches.size(); ++n) {
    const CachePair& pair = variant->caches[n];
    State::Slot& slot = run.state->slots_[n];
    if (pair.past < 0) {
      if (!pair.constant && run.state->has_value(slot.pair.past))
        raise(ErrorCode::invalid_argument, "session", "the state has steps of '", slot.pair.past,
              "', which is no input");
      continue;
    }
    const Value*& input = inputs[variant->pasts[n]];
    if (pair.kept && pair.fresh) {
      run.state->begin_again(n);
      input = nullptr;
      continue;
    }
    if (pair.kept) {
      run.state->make_cache(n, pair);
      if (input != nullptr) run.state->start_cache(n, input->tensor(), pair), slot.started = true;
      input = nullptr;
      continue;
    }
    run.state->make_value(n, graph.entry(pair.past).info.type.element);
    if (input != nullptr) {
      slot.value = *input;
    } else if (slot.whole) {
      detail::check_input(graph, graph.entry(pair.past), slot.value);
    } else {
      if (pair.output == CachePair::no_output)
        raise(ErrorCode::invalid_argument, "session", "the state has no '", slot.pair.past,
              "' yet, and the graph no '", slot.pair.present, "'");
      slot.value = detail::first_past(
          graph, graph.entry(pair.past), inputs,
          pair.updated ? std::max(run.state->options_.capacity, pair.least_rows) : 0, allocator());
    }
    input = &slot.value;
  }
  for (std::size_t k = 0; k < count; ++k)
    if (const Graph::ValueEntry& e = graph.entry(graph.inputs()[k]);
        inputs[k] == nullptr && !e.optional && variant->needed[k])
      raise(ErrorCode::invalid_argument, "session", "input '", e.name, "' is missing");
  const std::vector<std::string>& shown = run.state != nullptr ? variant->shown : requested(run);
  results.values_.resize(shown.size());
  if (results.names_ != shown) results.names_ = shown;
  int64_t last = run.last.count;
  const Value last_steps = AnyTensor(DType::int64, {}, Storage::borrow(&last, sizeof last));
  given_values[count] = &last_steps;
  const ScopedPool use(executor());
  f(variant, given_values.first(count + variant->added()), budget ? &*budget : nullptr);
}

TENON_SESSION std::size_t Session::Core::feed(std::string_view name, const Value& value,
                                              std::span<const Value*> inputs, std::size_t first) const {
  const std::vector<ValueId>& ids = graph.inputs();
  for (std::size_t n = 0; n < ids.size(); ++n) {
    const std::size_t k = (first + n) % ids.size();
    const Graph::ValueEntry& e = graph.entry(ids[k]);
    if (e.name != name) continue;
    detail::check_input(graph, e, value);
    inputs[k] = &value;
    return k + 1;
  }
  raise(ErrorCode::invalid_argument, "session", "there is no input '", name, "'");
}

TENON_SESSION std::shared_ptr<Session::Core::Variant> Session::Core::find_variant(
    const RunOptions& run, std::span<const ValueId> given, std::span<const Condition> conditions,
    const detail::Budget* budget) {
  const auto serves = [&](const Variant& v) {
    return v.outputs == run.outputs && std::ranges::equal(v.given, given) &&
           std::ranges::equal(v.conditions, conditions) && v.serves(run.state, run.last);
  };
  if (serves(*own)) return own;
  detail::UniqueLock lock(mutex);
  while (true) {
    const auto found = std::ranges::find_if(variants, [&](const auto& v) { return serves(*v); });
    if (found == variants.end()) break;
    const std::shared_ptr<Variant> v = *found;
    std::rotate(found, found + 1, variants.end());
    const auto ended = [&] { return v->progress != Variant::Progress::compiling; };
    if (budget != nullptr) budget->wait(compiled, lock, ended);
    else compiled.wait(lock, ended);
    if (v->progress == Variant::Progress::ready) return v;
    if (v->progress == Variant::Progress::failed) {
      if (v->error) raise(*v->error);
      std::rethrow_exception(v->other);
    }
  }
  const auto v = std::make_shared<Variant>();
  v->outputs = run.outputs;
  v->given.assign(given.begin(), given.end());
  v->conditions.assign(conditions.begin(), conditions.end());
  if (run.state != nullptr) v->take_pairs(*run.state);
  v->last = run.last;
  variants.push_back(v);
  lock.unlock();
  make(v, budget);
  return v;
}

TENON_SESSION void Session::Core::make(const std::shared_ptr<Variant>& variant,
                                       const detail::Budget* budget) {
  using Progress = Variant::Progress;
  const auto end = [&](Progress progress) {
    std::shared_ptr<Variant> gone;  // freed outside the lock
    const detail::LockGuard lock(mutex);
    variant->progress = progress;
    const auto ready = [](const std::shared_ptr<Variant>& v) { return v->progress == Progress::ready; };
    if (progress != Progress::ready) {
      std::erase(variants, variant);
    } else if (std::ranges::count_if(variants, ready) > options.max_programs) {
      const auto oldest = std::ranges::find_if(variants, ready);
      gone = std::move(*oldest);
      variants.erase(oldest);
    }
    compiled.notify_all();
  };
  const auto compile_variant = [&] {
    std::vector<ValueId> ids = ids_of(variant->outputs);
    if (variant->keep != nullptr) ids = ids_with_state(*variant);
    if (options.source == nullptr) {
      compile(*variant, graph, std::move(ids), budget);
    } else {
      const Graph again = options.source->read();
      if (again.values().size() != graph.values().size() || again.nodes().size() != graph.nodes().size())
        raise(ErrorCode::io, "session", "the graph is not the one that it was");
      compile(*variant, again, std::move(ids), budget);
    }
  };
  Progress reached = Progress::failed;
  const auto fail = [&](const Error& e) {
    // The bounds apply to this run only. A waiting run has its own bounds, and compiles again.
    const bool bounded = e.code() == ErrorCode::limit || e.code() == ErrorCode::cancelled;
    if (budget != nullptr && bounded) reached = Progress::given_up;
    variant->error = e;
    raise(e);
  };
  const std::exception_ptr failure = detail::caught([&] { detail::attempt<Error>(compile_variant, fail); });
  if (failure) {
    if (!variant->error) variant->other = failure;
    end(reached);
    std::rethrow_exception(failure);
  }
  end(Progress::ready);
}

TENON_SESSION ValueId Session::Core::find(const std::string& name) const {
  // An output may have another value's name.
  const auto output = std::ranges::find(names, name);
  return output != names.end() ? outputs[static_cast<std::size_t>(output - names.begin())] : graph.find(name);
}

TENON_SESSION std::vector<ValueId> Session::Core::ids_of(const std::vector<std::string>& requested) const {
  if (requested.empty()) return outputs;
  std::vector<ValueId> ids;
  for (const std::string& name : requested) {
    const ValueId id = find(name);
    if (id < 0) raise(ErrorCode::invalid_argument, "session", "there is no value '", name, "'");
    ids.push_back(id);
  }
  return ids;
}

TENON_SESSION std::vector<ValueId> Session::Core::ids_with_state(Variant& variant) const {
  variant.shown = shown_with(variant.outputs, variant.pairs);
  std::vector<ValueId> ids;
  if (!variant.shown.empty()) ids = ids_of(variant.shown);
  const auto place_of = [&](const StatePair& p) {
    return std::ranges::find(graph.inputs(), p.past,
                             [&](ValueId v) -> const std::string& { return graph.entry(v).name; });
  };
  const auto absent = graph.inputs().end();
  const bool reads = std::ranges::any_of(variant.pairs, [&](const auto& p) { return place_of(p) != absent; });
  for (const StatePair& p : variant.pairs) {
    const auto input = place_of(p);
    if (reads && input == absent)
      raise(ErrorCode::invalid_argument, "session", "the state's '", p.past, "' is no input");
    CachePair& pair = variant.caches.emplace_back();
    pair.constant = p.constant, pair.axis = p.axis;
    if (input != absent) pair.past = *input;
    variant.pasts.push_back(static_cast<std::size_t>(input - graph.inputs().begin()));
    if (reads && p.constant && find(p.present) < 0) continue;  // an earlier session returned it
    pair.output = ids.size();
    ids.push_back(ids_of({p.present})[0]);
  }
  return ids;
}

TENON_SESSION std::vector<ValueId> Session::Core::choosing_inputs() const {
  std::vector<ValueId> found;
  const auto chooses = [&](ValueId v, const GraphNode& n) {
    if (v < 0 || graph.entry(v).optional || std::ranges::find(found, v) != found.end()) return false;
    const Dims& dims = graph.entry(v).info.dims;
    return dims.known() && dims.count().is(1) &&
           std::ranges::find(graph.inputs(), v) != graph.inputs().end() &&
           std::ranges::any_of(n.outputs, [&](ValueId result) {
             return std::ranges::find(outputs, result) != outputs.end();
           });
  };
  for (const Pass& pass : options.passes ? *options.passes : std::vector<Pass>())
    for (const GraphNode& n : graph.nodes())
      if (const ValueId v = pass.chosen_by != nullptr ? pass.chosen_by(n) : -1; chooses(v, n))
        found.push_back(v);
  return found;
}

TENON_SESSION int64_t Session::Core::default_folded(const Graph& graph) {
  int64_t bytes = 0;
  for (const Graph::ValueEntry& e : graph.values())
    if (e.content.is_tensor()) bytes += e.content.tensor().bytes();
  return (int64_t{1} << 30) + 16 * std::min(bytes, int64_t{1} << 58);
}

TENON_SESSION std::vector<bool> Session::Core::needed_inputs(const Graph& graph,
                                                             std::span<const ValueId> outputs) {
  const std::vector<bool> values = graph.needed_by(outputs);
  std::vector<bool> needed;
  for (ValueId v : graph.inputs()) needed.push_back(values[static_cast<std::size_t>(v)]);
  return needed;
}

TENON_SESSION std::size_t Session::Core::index_of_last(const Variant& variant) const {
  const std::vector<std::string>& returned = variant.keep != nullptr   ? variant.shown
                                             : variant.outputs.empty() ? names
                                                                       : variant.outputs;
  const auto found = std::ranges::find(returned, variant.last.output);
  if (found == returned.end())
    raise(ErrorCode::invalid_argument, "session", "the run returns no '", variant.last.output,
          "', of which it is asked for the last steps");
  return static_cast<std::size_t>(found - returned.begin());
}

TENON_SESSION void Session::Core::compile(Variant& variant, const Graph& from, std::vector<ValueId> ids,
                                          const detail::Budget* budget, Graph* drained,
                                          std::vector<PassReport>* receiver) const {
  const ScopedPool use(executor());
  ProgramOptions program{.fold = options.fold_constants,
                         .shared = &shared,
                         .reports = receiver,
                         .budget = budget,
                         .origin = origin};
  program.max_folded_bytes = options.max_folded_bytes ? *options.max_folded_bytes : default_folded(from);
  std::vector<Pass> passes = options.passes ? *options.passes : std::vector<Pass>();
  if (variant.last.pass != nullptr) {
    program.last_steps_of = index_of_last(variant);
    passes.insert(passes.begin(), *variant.last.pass);
  }
  if (variant.keep != nullptr) passes.push_back(*variant.keep);
  program.passes = passes, program.caches = variant.caches, program.conditions = variant.conditions;
  variant.needed = needed_inputs(from, ids);
  variant.runner.emplace(Program(from, std::move(ids), variant.given, program, nullptr, drained),
                         allocator());
  for (std::size_t k = 0; k < variant.needed.size(); ++k)
    for (const CachePair& c : variant.caches)
      if (c.kept && c.past == from.inputs()[k]) variant.needed[k] = false;
}

}  // namespace tenon::TENON_ABI

#undef TENON_SESSION
