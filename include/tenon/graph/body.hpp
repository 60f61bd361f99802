// Graphs as attributes: the bodies of If, Loop and Scan.
#pragma once

#include "tenon/base/platform/exceptions.hpp"
#include "tenon/graph/runner.hpp"
#include "tenon/graph/text.hpp"

namespace tenon::TENON_ABI {

namespace detail {

/// An info that outlives the value. A constant condition stays known, because the rule of a Loop asks whether
/// its body always goes on.
inline op::Info without_data(op::Info i) {
  const void* const data = std::exchange(i.data, nullptr);
  if (data != nullptr && i.type == Type(DType::bool_) && i.dims.count().is(1))
    i.propagated = {Dim(*static_cast<const bool*>(data) ? 1 : 0)};
  return i;
}

}  // namespace detail

/// A graph that an operator runs. Captured values are read from the scope in which the operator runs.
class GraphBody final : public CapturingBody {
 public:
  explicit GraphBody(Graph graph, Allocator& allocator = default_allocator())
      : GraphBody(std::make_shared<const Graph>(std::move(graph)), {.max_folded_bytes = small}, nullptr,
                  allocator) {}
  GraphBody(std::shared_ptr<const Graph> graph, ProgramOptions options, const ProgramScope* scope,
            Allocator& allocator)
      : graph_(std::move(graph)), runner_(program_of(std::move(options), scope), allocator) {}

  const Graph& graph() const override { return *graph_; }
  const Program& program() const { return runner_.program(); }
  int inputs() const override { return static_cast<int>(graph_->inputs().size()); }
  int outputs() const override { return static_cast<int>(program().outputs().size()); }
  Dims declared_dims(int input) const override {
    return graph_->entry(graph_->inputs()[static_cast<std::size_t>(input)]).info.dims;
  }
  std::vector<ValueId> outer_values() const override {
    std::vector<ValueId> outer;
    for (const Program::Given& g : program().given())
      if (g.outer >= 0) outer.push_back(g.outer);
    return outer;
  }
  std::shared_ptr<const CapturingBody> moved(Graph& outer, std::span<const ValueId> here) const override {
    return std::make_shared<const GraphBody>(graph_->moved(outer, here), runner_.allocator());
  }
  bool may_fold() const override {
    return program().constant_bytes() <= detail::most_folded_in_loop &&
           std::ranges::all_of(program().nodes(), [](const GraphNode& n) { return detail::may_fold(n.op); });
  }
  std::shared_ptr<const CapturingBody> compiled(const ProgramScope& scope,
                                                const ProgramOptions& options) const override {
    return std::make_shared<const GraphBody>(graph_, options, &scope, runner_.allocator());
  }

  std::vector<op::Info> infer(std::span<const op::Info> inputs) const override {
    return infer_with(nullptr, inputs);
  }
  std::vector<op::Info> infer_in(const op::Context& scope, std::span<const op::Info> inputs) const override {
    // No run of the body may be possible with the captured values.
    std::vector<op::Info> out =
        tenon::detail::attempt<Error>([&] { return infer_with(&scope, inputs); },
                                      [&](const Error&) { return infer_with(nullptr, inputs); });
    for (std::size_t k = 0; k < out.size(); ++k)
      out[k].dims = detail::completed(out[k].dims, graph_->declared_outputs()[k]);
    return out;
  }

  std::vector<Value> run(op::Context& scope, std::span<const Value> inputs) const override {
    check_count(inputs.size());
    for (const Program::Given& g : std::span(program().given()).subspan(inputs.size()))
      if (scope.value(g.outer) == nullptr)
        raise(ErrorCode::invalid_argument, graph_->name(),
              "a graph that captures values runs within a session only");
    std::vector<const Value*> in;
    for (const Value& v : inputs) in.push_back(&v);
    std::vector<Value> out(program().outputs().size());
    tenon::detail::Budget* const budget = scope.budget();
    if (budget != nullptr) budget->count(this);
    runner_.run(in, &scope, out, nullptr, budget);
    if (budget != nullptr && budget->meter() != nullptr)
      for (const Value& v : out) budget->hold(text_bytes(v));
    return out;
  }

 private:
  // A body is compiled again with the enclosing program. Until then only constants that determine extents are
  // worth their memory, because a file may have many bodies.
  static constexpr int64_t small = 4096;

  std::vector<op::Info> infer_with(const op::Context* scope, std::span<const op::Info> inputs) const {
    check_count(inputs.size());
    std::vector<op::Info> given;
    for (const Program::Given& g : program().given()) {
      const Value* captured = scope != nullptr && g.outer >= 0 ? scope->value(g.outer) : nullptr;
      given.push_back(captured != nullptr ? op::info_of(*captured) : g.info);
      if (!given.back().dims.ranked()) given.back().dims = g.info.dims;  // of a sequence's elements
    }
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const op::Info& declared = given[k];
      const bool both = declared.type && declared.type.kind != Kind::unknown && inputs[k].type &&
                        inputs[k].type.kind != Kind::unknown;
      if (both && !(declared.type == inputs[k].type))
        raise(ErrorCode::invalid_type, graph_->name(), "input ", k, " is ", to_string(inputs[k].type),
              ", but ", to_string(declared.type), " is declared");
      if (inputs[k].present()) given[k] = inputs[k];
    }
    const detail::Plan plan = runner_.plan(given);
    std::vector<op::Info> out;
    for (ValueId v : program().outputs()) {
      out.push_back(tenon::detail::without_data(plan.values[static_cast<std::size_t>(v)].info));
    }
    return out;
  }
  Program program_of(ProgramOptions options, const ProgramScope* scope) const {
    std::vector<ValueId> ids;
    for (const auto& [name, v] : graph_->outputs()) ids.push_back(v);
    options.origin = graph_;
    // Each run gives all inputs, those with default values too.
    return Program(*graph_, std::move(ids), graph_->inputs(), options, scope);
  }
  void check_count(std::size_t given) const {
    if (given != graph_->inputs().size())
      raise(ErrorCode::invalid_model, graph_->name(), "the graph has ", graph_->inputs().size(),
            " inputs, and is given ", given);
  }

  std::shared_ptr<const Graph> graph_;
  mutable detail::Runner runner_;
};

/// A graph as the value of an attribute: op::If{.then_branch = body(std::move(a)), .else_branch =
/// body(std::move(b))}.
[[nodiscard]] inline op::BodyRef body(Graph graph) {
  return {std::make_shared<const GraphBody>(std::move(graph))};
}

}  // namespace tenon::TENON_ABI
