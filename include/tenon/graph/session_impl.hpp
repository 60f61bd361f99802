// Bodies of session.hpp.
#pragma once

#include "tenon/graph/session.hpp"

#ifdef TENON_COMPILED_SESSION
#define TENON_SESSION
#else
#define TENON_SESSION inline
#endif

namespace tenon::TENON_ABI {

TENON_SESSION void Binding::run() {
  if (bound_ == nullptr)
    throw Error(ErrorCode::invalid_argument, "binding", "it is bound to nothing, or was moved from");
  const ScopedPool use(bound_->executor);
  if (!detail::Budget::needed(bound_->options)) return bound_->frame->run(outputs_.values_, nullptr);
  detail::Budget budget(bound_->options, *bound_->allocator);
  bound_->frame->run(outputs_.values_, &budget);
}

TENON_SESSION Session::Session(Graph graph, SessionOptions options)
    : graph_(std::move(graph)), options_(std::move(options)), shared_(std::make_unique<Shared>()) {
  simd::check_request();
  if (options_.executor == nullptr && options_.threads > 1) {
    pool_ = std::make_shared<ThreadPool>(options_.threads);
    options_.executor = pool_.get();
  }
  for (const auto& [name, id] : graph_.outputs()) names_.push_back(name), outputs_.push_back(id);
  shared_->own = std::make_shared<Variant>();
  compile(*shared_->own, graph_, outputs_, nullptr, options_.source ? &graph_ : nullptr,
          options_.explain ? &reports_ : nullptr);
}

TENON_SESSION void Session::run(const Feeds& feeds, Outputs& outputs, const RunOptions& options) const {
  with_inputs(feeds, outputs, options,
              [&](const std::shared_ptr<Variant>& variant, std::span<const Value* const> inputs,
                  detail::Budget* budget) {
                variant->runner->run(inputs, nullptr, outputs.values_, options.profile, budget);
              });
}

TENON_SESSION Binding Session::bind(const Feeds& feeds, Outputs outputs, const RunOptions& options) const {
  Binding b;
  with_inputs(feeds, outputs, options,
              [&](const std::shared_ptr<Variant>& variant, std::span<const Value* const> inputs,
                  detail::Budget* budget) {
                auto frame = variant->runner->take(inputs, nullptr, budget);
                frame->bind(inputs, outputs.values_, budget);
                b.bound_ = std::make_unique<Binding::Bound>(
                    Binding::Bound{variant, pool_, executor(), &allocator(), options, std::move(frame)});
              });
  b.outputs_ = std::move(outputs);
  return b;
}

TENON_SESSION MemoryPlan Session::plan(const Feeds& feeds) const {
  const Program& p = program();
  std::vector<const Value*> inputs(graph_.inputs().size());
  for (std::size_t next = 0; const auto& [name, value] : feeds) next = feed(name, value, inputs, next);
  const detail::Plan plan = detail::plan_of(p, feeds);
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
void Session::with_inputs(const Feeds& feeds, Outputs& outputs, const RunOptions& options, F f) const {
  check_alive();
  std::optional<detail::Budget> budget;
  if (detail::Budget::needed(options)) budget.emplace(options, allocator());
  const std::size_t count = graph_.inputs().size();
  Scratch scratch;
  const std::span inputs(scratch.take<const Value*>(static_cast<int64_t>(count)), count);
  std::fill(inputs.begin(), inputs.end(), nullptr);
  std::size_t next = 0;
  for (const auto& [name, value] : feeds) next = feed(name, value, inputs, next);
  // Inputs that replace a value of their own, in the graph's order.
  ValueId* const given = scratch.take<ValueId>(static_cast<int64_t>(count));
  std::size_t replaced = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const Graph::ValueEntry& e = graph_.entry(graph_.inputs()[k]);
    if (inputs[k] != nullptr && e.optional) given[replaced++] = graph_.inputs()[k];
  }
  // Held until the run ends, for other runs may push it out.
  const std::shared_ptr<Variant> variant =
      find_variant(options, {given, replaced}, budget ? &*budget : nullptr);
  for (std::size_t k = 0; k < count; ++k)
    if (const Graph::ValueEntry& e = graph_.entry(graph_.inputs()[k]);
        inputs[k] == nullptr && !e.optional && variant->needed[k])
      throw Error(ErrorCode::invalid_argument, "session", str_cat("input '", e.name, "' is missing"));
  outputs.values_.resize(requested(options).size());
  if (outputs.names_ != requested(options)) outputs.names_ = requested(options);
  const ScopedPool use(executor());
  f(variant, inputs, budget ? &*budget : nullptr);
}

TENON_SESSION std::size_t Session::feed(std::string_view name, const Value& value,
                                        std::span<const Value*> inputs, std::size_t first) const {
  const std::vector<ValueId>& ids = graph_.inputs();
  for (std::size_t n = 0; n < ids.size(); ++n) {
    const std::size_t k = (first + n) % ids.size();
    const Graph::ValueEntry& e = graph_.entry(ids[k]);
    if (e.name != name) continue;
    check(e, value);
    inputs[k] = &value;
    return k + 1;
  }
  throw Error(ErrorCode::invalid_argument, "session", str_cat("there is no input '", name, "'"));
}

TENON_SESSION void Session::check(const Graph::ValueEntry& e, const Value& v) const {
  const auto where = [&] { return str_cat("input '", e.name, "'"); };
  if (e.info.type && e.info.type.kind != Kind::unknown && !(v.type() == e.info.type))
    throw Error(ErrorCode::invalid_type, where(),
                str_cat(to_string(v.type()), " given, ", to_string(e.info.type), " declared"));
  if (!v.is_tensor() || e.info.dims.fits(v.tensor().extents())) return;
  std::string declared;
  for (const Dim d : e.info.dims)
    declared += str_cat(declared.empty() ? "" : ",", d.known()      ? std::to_string(d.value())
                                                     : d.symbolic() ? std::string(graph_.symbol_name(d))
                                                                    : "?");
  throw Error(ErrorCode::invalid_shape, where(),
              str_cat(to_string(v.tensor().extents()), " given, (", declared, ") declared"));
}

TENON_SESSION std::shared_ptr<Session::Variant> Session::find_variant(const RunOptions& options,
                                                                      std::span<const ValueId> given,
                                                                      const detail::Budget* budget) const {
  if (options.outputs.empty() && given.empty()) return shared_->own;
  std::vector<std::shared_ptr<Variant>>& variants = shared_->variants;
  std::unique_lock lock(shared_->mutex);
  while (true) {
    const auto found = std::ranges::find_if(variants, [&](const auto& v) {
      return v->outputs == options.outputs &&
             std::equal(v->given.begin(), v->given.end(), given.begin(), given.end());
    });
    if (found == variants.end()) break;
    const std::shared_ptr<Variant> v = *found;
    std::rotate(found, found + 1, variants.end());
    const auto ended = [&] { return v->state != Variant::State::compiling; };
    if (budget != nullptr) budget->wait(shared_->compiled, lock, ended);
    else shared_->compiled.wait(lock, ended);
    if (v->state == Variant::State::ready) return v;
    if (v->state == Variant::State::failed) {
      if (v->error) throw Error(*v->error);
      std::rethrow_exception(v->other);
    }
  }
  const auto v = std::make_shared<Variant>();
  v->outputs = options.outputs;
  v->given.assign(given.begin(), given.end());
  variants.push_back(v);
  lock.unlock();
  make(v, budget);
  return v;
}

TENON_SESSION void Session::make(const std::shared_ptr<Variant>& variant,
                                 const detail::Budget* budget) const {
  using State = Variant::State;
  const auto end = [&](State state) {
    std::shared_ptr<Variant> gone;  // freed outside of the lock
    const std::lock_guard lock(shared_->mutex);
    variant->state = state;
    std::vector<std::shared_ptr<Variant>>& variants = shared_->variants;
    const auto ready = [](const std::shared_ptr<Variant>& v) { return v->state == State::ready; };
    if (state != State::ready) {
      std::erase(variants, variant);
    } else if (std::ranges::count_if(variants, ready) > options_.max_programs) {
      const auto oldest = std::ranges::find_if(variants, ready);
      gone = std::move(*oldest);
      variants.erase(oldest);
    }
    shared_->compiled.notify_all();
  };
  try {
    std::vector<ValueId> ids = ids_of(variant->outputs);
    if (options_.source == nullptr) {
      compile(*variant, graph_, std::move(ids), budget);
    } else {
      const Graph again = options_.source->read();
      if (again.values().size() != graph_.values().size() || again.nodes().size() != graph_.nodes().size())
        throw Error(ErrorCode::io, "session", "the graph is not the one that it was");
      compile(*variant, again, std::move(ids), budget);
    }
  } catch (const Error& e) {
    // The bounds are this run's own. Another one that waits has others, and compiles for itself.
    const bool bounded = e.code() == ErrorCode::limit || e.code() == ErrorCode::cancelled;
    variant->error = e;
    end(budget != nullptr && bounded ? State::given_up : State::failed);
    throw;
  } catch (...) {
    variant->other = std::current_exception();
    end(State::failed);
    throw;
  }
  end(State::ready);
}

TENON_SESSION std::vector<ValueId> Session::ids_of(const std::vector<std::string>& outputs) const {
  if (outputs.empty()) return outputs_;
  std::vector<ValueId> ids;
  for (const std::string& name : outputs) {
    ValueId id = graph_.find(name);
    for (std::size_t k = 0; id < 0 && k < names_.size(); ++k)
      if (names_[k] == name) id = outputs_[k];
    if (id < 0)
      throw Error(ErrorCode::invalid_argument, "session", str_cat("there is no value '", name, "'"));
    ids.push_back(id);
  }
  return ids;
}

TENON_SESSION int64_t Session::default_folded(const Graph& graph) {
  int64_t bytes = 0;
  for (const Graph::ValueEntry& e : graph.values())
    if (e.content.is_tensor()) bytes += e.content.tensor().bytes();
  return (int64_t{1} << 30) + 16 * std::min(bytes, int64_t{1} << 58);
}

TENON_SESSION std::vector<bool> Session::needed_inputs(const Graph& graph, std::span<const ValueId> outputs) {
  std::vector<bool> read(graph.values().size());
  const auto is_read = [&](ValueId v) { return read[static_cast<std::size_t>(v)]; };
  const auto mark = [&](std::span<const ValueId> values) {
    for (ValueId v : values)
      if (v >= 0) read[static_cast<std::size_t>(v)] = true;
  };
  mark(outputs);
  for (std::size_t k = graph.nodes().size(); k-- > 0;)
    if (const Graph::Node& n = graph.nodes()[k]; std::ranges::any_of(n.outputs, is_read))
      mark(n.inputs), mark(n.captures);
  std::vector<bool> needed;
  for (ValueId v : graph.inputs()) needed.push_back(is_read(v));
  return needed;
}

TENON_SESSION void Session::compile(Variant& variant, const Graph& graph, std::vector<ValueId> ids,
                                    const detail::Budget* budget, Graph* drained,
                                    std::vector<PassReport>* reports) const {
  const ScopedPool use(executor());
  ProgramOptions program{.fold = options_.fold_constants, .reports = reports, .budget = budget};
  program.max_folded_bytes = options_.max_folded_bytes ? *options_.max_folded_bytes : default_folded(graph);
  if (options_.passes) program.passes = *options_.passes;
  variant.needed = needed_inputs(graph, ids);
  variant.runner.emplace(Program(graph, std::move(ids), variant.given, program, nullptr, drained),
                         allocator());
}

}  // namespace tenon::TENON_ABI

#undef TENON_SESSION
