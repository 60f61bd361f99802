// Function bodies of program.hpp: the nodes that outputs need, from a graph.
#pragma once

#include <map>
#include <numeric>
#include <set>

#include "tenon/base/platform/exceptions.hpp"
#include "tenon/graph/program.hpp"

namespace tenon::TENON_ABI {

namespace detail {

/// A body that records the inputs of the last `infer`. The rule of a loop calls `infer` until the result
/// holds for every iteration, so the last inputs hold for every run.
class Probe final : public op::Body {
 public:
  Probe(std::shared_ptr<const op::Body> body, std::vector<op::Info>& asked)
      : body_(std::move(body)), asked_(asked) {}
  int inputs() const override { return body_->inputs(); }
  int outputs() const override { return body_->outputs(); }
  std::vector<op::Info> infer(std::span<const op::Info> inputs) const override {
    asked_.assign(inputs.begin(), inputs.end());
    return body_->infer(inputs);
  }
  std::vector<Value> run(op::Context& scope, std::span<const Value> inputs) const override {
    return body_->run(scope, inputs);
  }

 private:
  std::shared_ptr<const op::Body> body_;
  std::vector<op::Info>& asked_;
};

}  // namespace detail

inline Program::Program(const Graph& graph, std::vector<ValueId> outputs, std::span<const ValueId> replaced,
                        const ProgramOptions& options, const ProgramScope* scope, Graph* drained)
    : outputs_(std::move(outputs)),
      requested_(outputs_),
      origin_(options.origin),
      fold_(options.fold),
      folded_(options.folded),
      budget_(options.budget) {
  detail::Meter::Owner own;
  if (folded_ == nullptr)
    folded_ = (own = detail::Meter::make(default_allocator(), options.max_folded_bytes)).get();
  if (!options.passes.empty()) {
    edit_ = std::make_unique<Edit>();
    edit_->names_extents = scope == nullptr;
  }
  add_values(graph, replaced, options.conditions, scope);
  if (drained != nullptr) drained->drop_contents();
  const std::vector<bool> needed = find_needed(graph);
  if (scope != nullptr && edit_ && fold_) copy_makers(scope->around);
  Origin all{graph, std::vector<ValueId>(values_.size())};
  std::iota(all.here.begin(), all.here.end(), 0);
  for (std::size_t n = 0; n < needed.size(); ++n)
    if (needed[n]) add_from(all, graph.nodes()[n], options);
  for (ValueId& v : outputs_) v = all.here[static_cast<std::size_t>(v)];
  if (edit_) rewrite(options);
  finish();
}

inline void Program::add_values(const Graph& graph, std::span<const ValueId> replaced,
                                std::span<const Condition> conditions, const ProgramScope* scope) {
  for (const Graph::ValueEntry& e : graph.values()) {
    if (e.is_outside())
      raise(ErrorCode::invalid_argument, str_cat("constant '", e.name, "'"),
            "its elements are not in the graph");
    values_.push_back({e.name, e.content});
  }
  for (ValueId v : replaced) value(v).constant = {};
  for (const Condition& c : conditions) {
    AnyTensor t = AnyTensor::uninitialized(DType::bool_, graph.entry(c.input).info.dims.extents());
    *static_cast<bool*>(t.out().data()) = c.value;
    value(c.input).constant = std::move(t);
  }
  for (ValueId v : graph.inputs()) given_.push_back({v, -1, graph.entry(v).info});
  for (std::size_t k = 0; scope && edit_ && k < given_.size(); ++k) {
    op::Info& i = given_[k].info;  // a run enforces the types that a body declares, not the extents
    i.dims = k < scope->inputs.size() ? scope->inputs[k].dims : Dims{};
    if (k < scope->inputs.size() && (!i.type || i.type.kind == Kind::unknown)) i.type = scope->inputs[k].type;
  }
  for (ValueId v : graph.captures()) {
    ValueId outer = graph.entry(v).outer;
    if (scope) outer = scope->here[static_cast<std::size_t>(outer)];
    if (scope && scope->around.constant(outer)) value(v).constant = scope->around.constant(outer);
    else given_.push_back({v, outer, scope && edit_ ? scope->around.info(outer) : graph.entry(v).info});
  }
  for (const ValueEntry& e : values_) constant_bytes_ += content_bytes(e.constant);
  if (!edit_) return;
  edit_->infos.resize(values_.size());
  edit_->uses.resize(values_.size());
  for (const Given& g : given_) edit_->infos[static_cast<std::size_t>(g.value)] = g.info;
  for (std::size_t v = 0; v < values_.size(); ++v)
    if (values_[v].constant) edit_->infos[v] = op::info_of(values_[v].constant);
}

inline std::vector<bool> Program::find_needed(const Graph& graph) {
  for (ValueId v : outputs_) value(v).used = true;
  std::vector<bool> needed(graph.nodes().size());
  for (std::size_t n = needed.size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    for (ValueId v : node.outputs)
      if (used(v)) needed[n] = true;
    if (needed[n]) for_each_operand(node, [&](ValueId v) { value(v).used = true; });
  }
  return needed;
}

inline std::set<int> Program::makers_over_constants(ValueId v) const {
  constexpr std::size_t most = 16;  // a file may capture a value in many bodies
  std::set<int> makers;
  std::vector<ValueId> operands{v};
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k] < 0 || stored(operands[k])) continue;
    const int m = maker(operands[k]);
    if (m < 0 || !may_fold(node(m))) return {};
    if (!makers.insert(m).second) continue;
    operands.insert(operands.end(), node(m).inputs.begin(), node(m).inputs.end());
    if (operands.size() > most) return {};
  }
  return makers;
}

inline void Program::copy_makers(const Program& around) {
  std::set<int> makers;
  std::map<ValueId, ValueId> here;  // this program's value for each value of the enclosing program
  std::erase_if(given_, [&](const Given& g) {
    if (g.outer < 0 || !used(g.value) || here.contains(g.outer)) return false;
    std::set<int> some = around.makers_over_constants(g.outer);
    if (some.empty()) return false;
    makers.merge(some);
    here[g.outer] = g.value;
    return true;
  });
  const auto place = [&](ValueId& v) {
    if (v < 0) return;
    const ValueId outer = v;
    const auto [at, added] = here.emplace(outer, -1);
    if (added) {
      at->second = add_value({});
      set_constant(at->second, around.stored(outer));
    }
    v = at->second;
  };
  for (const int m : makers) {
    Node n = around.node(m);
    std::ranges::for_each(n.inputs, place);
    for (ValueId& v : n.outputs) {
      const ValueId outer = v;
      place(v);
      edit_->copied[v] = {v, outer, around.info(outer)};
    }
    append(std::move(n));
  }
}

inline void Program::capture_again() {
  std::erase_if(nodes_, [&](const Node& n) { return edit_->copied.contains(n.outputs[0]); });
  for (const auto& [v, given] : edit_->copied) {
    value(v).constant = {};
    given_.push_back(given);
  }
}

inline void Program::append(Node n) {
  const int number = static_cast<int>(nodes_.size());
  nodes_.push_back(std::move(n));
  if (!edit_) return;
  for (ValueId v : node(number).outputs) uses(v).maker = number;
  infer(number);
}

inline void Program::add_from(Origin& from, const Node& of_graph, const ProgramOptions& options) {
  Node n = of_graph;
  for (auto* list : {&n.inputs, &n.outputs})
    for (ValueId& v : *list)
      if (v >= 0) v = from.here[static_cast<std::size_t>(v)];
  check_time(n);
  if (expand_body(from, of_graph, n, options)) return;
  compile_bodies(n, from.here, options);
  if (fold_ && fold(n, options.passes)) return;
  if (n.op.is_function() && expand(from.graph, of_graph, n, options)) return;
  append(std::move(n));
}

inline void Program::add_values_of(Origin& from) {
  for (std::size_t v = 0; v < from.here.size(); ++v) {
    if (from.here[v] >= 0) continue;
    const Graph::ValueEntry& e = from.graph.values()[v];
    from.here[v] = add_value(e.name);
    if (e.content) set_constant(from.here[v], e.content);
  }
}

inline bool Program::expand(const Graph& graph, const Node& of_graph, const Node& n,
                            const ProgramOptions& options) {
  const auto content = [&](std::size_t k) { return stored(n.inputs[k]); };
  const std::optional<Graph> function = graph.function_of(of_graph, content);
  if (!function) return false;
  Origin from{*function, std::vector<ValueId>(function->values().size(), -1)};
  auto input = function->inputs().begin();
  for (std::size_t k = 0; k < n.inputs.size(); ++k)
    if (n.inputs[k] >= 0 && !content(k)) from.here[static_cast<std::size_t>(*input++)] = n.inputs[k];
  for (std::size_t k = 0; k < n.outputs.size(); ++k) {
    const ValueId v = function->outputs()[k].second;
    ValueId& result = from.here[static_cast<std::size_t>(v)];
    if (function->entry(v).source != Graph::Source::node || result >= 0) return false;
    result = n.outputs[k];
  }
  add_values_of(from);
  std::vector<ValueId> results;
  for (std::size_t k = 0; k < n.outputs.size(); ++k) results.push_back(function->outputs()[k].second);
  const std::vector<bool> needed = function->needed_by(results);
  for (const Node& of_function : function->nodes())
    if (std::ranges::any_of(of_function.outputs,
                            [&](ValueId v) { return needed[static_cast<std::size_t>(v)]; }))
      add_from(from, of_function, options);
  return true;
}

inline bool Program::expand_body(Origin& from, const Node& of_graph, const Node& n,
                                 const ProgramOptions& options) {
  ReplacingBody by;
  for (const Pass& pass : options.passes) {
    if (pass.replacing == nullptr || by.body != nullptr) continue;
    by = pass.replacing(*this, n);
    if (by.body != nullptr && options.reports != nullptr)
      options.reports->push_back({options.where + detail::describe(n), pass.name, true,
                                  str_cat("replaced by the nodes of ", by.attribute)});
  }
  if (by.body == nullptr) return false;
  const Graph& graph = by.body->graph();
  Origin body{graph, std::vector<ValueId>(graph.values().size(), -1)};
  const auto at = [](Origin& o, ValueId v) -> ValueId& { return o.here[static_cast<std::size_t>(v)]; };
  for (ValueId v : graph.captures()) at(body, v) = at(from, graph.entry(v).outer);
  for (std::size_t k = 0; k < n.outputs.size(); ++k) {
    const ValueId v = graph.outputs()[k].second;
    if (graph.entry(v).source == Graph::Source::node && at(body, v) < 0) at(body, v) = n.outputs[k];
  }
  add_values_of(body);
  for (const Node& of_body : graph.nodes()) add_from(body, of_body, options);
  for (std::size_t k = 0; k < n.outputs.size(); ++k)
    at(from, of_graph.outputs[k]) = at(body, graph.outputs()[k].second);
  return true;
}

inline void Program::check_time(const Node& n) const {
  if (budget_ == nullptr) return;
  detail::attempt<Error>([&] { budget_->check(); }, [&](const Error& e) { detail::rethrow_at(n, e); });
}

inline void Program::compile_bodies(Node& n, std::span<const ValueId> here, const ProgramOptions& options) {
  std::map<std::string_view, std::vector<op::Info>> asked;
  const AnyOperator probing = detail::with_bodies(
      n.op, [&](std::string_view name, const std::shared_ptr<const op::Body>& body, const CapturingBody&) {
        return std::make_shared<const detail::Probe>(body, asked[name]);
      });
  if (asked.empty()) return;
  if (edit_) inferred(probing, n);
  n.op = detail::with_bodies(n.op, [&](std::string_view name, const auto&, const CapturingBody& body) {
    ProgramOptions inner = options;
    inner.folded = folded_;
    inner.caches = {}, inner.conditions = {}, inner.last_steps_of = {};  // this program's inputs and outputs
    inner.where = str_cat(options.where, detail::describe(n), ", ", name, ": ");
    return body.compiled({*this, asked[name], here}, inner);
  });
  n.captures = detail::outer_values(n.op);
}

inline void Program::finish() {
  if (edit_) capture_again();
  folded_ = nullptr, budget_ = nullptr;
  edit_.reset();
  for (ValueEntry& e : values_) e.used = false;
  for (ValueId v : outputs_) value(v).used = true;
  for (const Node& n : nodes_) for_each_operand(n, [&](ValueId v) { value(v).used = true; });
  for (ValueEntry& e : values_)
    if (!e.used) e.constant = {};
  settle();
  std::erase_if(given_, [&](const Given& g) { return g.outer >= 0 && !used(g.value); });
}

}  // namespace tenon::TENON_ABI
