// Bodies of session.hpp.
#pragma once

#include <map>

#include "tenon/graph/session.hpp"

#ifdef TENON_COMPILED_SESSION
#define TENON_SESSION
#else
#define TENON_SESSION inline
#endif

namespace tenon::TENON_ABI {

TENON_SESSION void Binding::run() {
  const ScopedPool use(executor_);
  if (!detail::Budget::needed(options_)) return frame_->run(outputs_.values_, nullptr);
  detail::Budget budget(options_, *allocator_);
  frame_->run(outputs_.values_, &budget);
}

TENON_SESSION Session::Session(Graph graph, SessionOptions options)
    : graph_(std::move(graph)), options_(std::move(options)), shared_(std::make_unique<Shared>()) {
  simd::check_request();
  if (options_.executor == nullptr && options_.threads > 1) {
    pool_ = std::make_unique<ThreadPool>(options_.threads);
    options_.executor = pool_.get();
  }
  for (const auto& [name, id] : graph_.outputs()) names_.push_back(name), outputs_.push_back(id);
  variant(graph_, {}, outputs_, {}, nullptr, options_.source ? &graph_ : nullptr,
          options_.explain ? &reports_ : nullptr);
}

TENON_SESSION void Session::run(const Feeds& feeds, Outputs& outputs, const RunOptions& options) const {
  with_inputs(feeds, outputs, options,
              [&](detail::Runner& runner, std::span<const Value* const> inputs, detail::Budget* budget) {
                runner.run(inputs, nullptr, outputs.values_, options.profile, budget);
              });
}

TENON_SESSION Binding Session::bind(const Feeds& feeds, Outputs outputs, const RunOptions& options) const {
  Binding b;
  with_inputs(feeds, outputs, options,
              [&](detail::Runner& runner, std::span<const Value* const> inputs, detail::Budget* budget) {
                b.frame_ = runner.take(inputs, nullptr, budget);
                b.frame_->bind(inputs, outputs.values_, budget);
              });
  b.allocator_ = &allocator();
  b.options_ = options;
  b.executor_ = options_.executor ? options_.executor : tenon::detail::current_executor;
  b.outputs_ = std::move(outputs);
  return b;
}

TENON_SESSION detail::Plan Session::plan(const Feeds& feeds) const {
  const Program& p = program();
  std::map<std::string_view, const Value*> values;
  for (const auto& [name, value] : feeds) values[name] = &value;
  std::vector<op::Info> given;
  for (const Program::Given& g : p.given()) {
    given.push_back(g.info);
    if (const auto it = values.find(p.entry(g.value).name); it != values.end())
      given.back() = op::info_of(*it->second), given.back().data = nullptr;
  }
  return shared_->variants.front()->runner.plan(given);
}

template <class F>
void Session::with_inputs(const Feeds& feeds, Outputs& outputs, const RunOptions& options, F f) const {
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
  Variant& variant = find_variant(options, {given, replaced}, budget ? &*budget : nullptr);
  for (std::size_t k = 0; k < count; ++k)
    if (const Graph::ValueEntry& e = graph_.entry(graph_.inputs()[k]);
        inputs[k] == nullptr && !e.optional && variant.needed[k])
      throw Error(ErrorCode::invalid_argument, "session", concat("input '", e.name, "' is missing"));
  detail::Runner& runner = variant.runner;
  if (outputs.names_.size() != runner.program().outputs().size() || outputs.names_ != requested(options)) {
    outputs.names_ = requested(options);
    outputs.values_.resize(outputs.names_.size());
  }
  const ScopedPool use(options_.executor ? options_.executor : tenon::detail::current_executor);
  f(runner, inputs, budget ? &*budget : nullptr);
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
  throw Error(ErrorCode::invalid_argument, "session", concat("there is no input '", name, "'"));
}

TENON_SESSION void Session::check(const Graph::ValueEntry& e, const Value& v) const {
  const auto where = [&] { return concat("input '", e.name, "'"); };
  if (e.info.type && e.info.type.kind != Kind::unknown && !(v.type() == e.info.type))
    throw Error(ErrorCode::invalid_type, where(),
                concat(to_string(v.type()), " given, ", to_string(e.info.type), " declared"));
  if (!v.is_tensor() || e.info.dims.fits(v.tensor().extents())) return;
  std::string declared;
  for (const Dim d : e.info.dims)
    declared += concat(declared.empty() ? "" : ",", d.known()      ? std::to_string(d.value())
                                                    : d.symbolic() ? std::string(graph_.symbol_name(d))
                                                                   : "?");
  throw Error(ErrorCode::invalid_shape, where(),
              concat(to_string(v.tensor().extents()), " given, (", declared, ") declared"));
}

TENON_SESSION Session::Variant& Session::find_variant(const RunOptions& options,
                                                      std::span<const ValueId> given,
                                                      const detail::Budget* budget) const {
  const std::lock_guard lock(shared_->mutex);
  for (const auto& v : shared_->variants)
    if (v->outputs == options.outputs &&
        std::equal(v->given.begin(), v->given.end(), given.begin(), given.end()))
      return *v;
  std::vector<ValueId> ids = outputs_;
  if (!options.outputs.empty()) {
    ids.clear();
    for (const std::string& name : options.outputs) {
      ValueId id = std::as_const(graph_).find(name);
      for (std::size_t k = 0; id < 0 && k < names_.size(); ++k)
        if (names_[k] == name) id = outputs_[k];
      if (id < 0)
        throw Error(ErrorCode::invalid_argument, "session", concat("there is no value '", name, "'"));
      ids.push_back(id);
    }
  }
  if (!options_.source) return variant(graph_, options.outputs, std::move(ids), given, budget);
  const Graph again = options_.source->read();
  if (again.values().size() != graph_.values().size() || again.nodes().size() != graph_.nodes().size())
    throw Error(ErrorCode::io, "session", "the graph is not the one that it was");
  return variant(again, options.outputs, std::move(ids), given, budget);
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

TENON_SESSION Session::Variant& Session::variant(const Graph& graph, std::vector<std::string> names,
                                                 std::vector<ValueId> ids, std::span<const ValueId> given,
                                                 const detail::Budget* budget, Graph* drained,
                                                 std::vector<PassReport>* reports) const {
  const ScopedPool use(options_.executor ? options_.executor : tenon::detail::current_executor);
  ProgramOptions program{.fold = options_.fold_constants, .reports = reports, .budget = budget};
  program.max_folded_bytes = options_.max_folded_bytes ? *options_.max_folded_bytes : default_folded(graph);
  if (options_.passes) program.passes = *options_.passes;
  shared_->variants.push_back(std::unique_ptr<Variant>(new Variant{
      std::move(names),
      {given.begin(), given.end()},
      needed_inputs(graph, ids),
      detail::Runner(Program(graph, std::move(ids), given, program, nullptr, drained), allocator())}));
  return *shared_->variants.back();
}

}  // namespace tenon::TENON_ABI

#undef TENON_SESSION
