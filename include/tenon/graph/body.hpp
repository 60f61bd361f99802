// Graphs as attributes: what If, Loop and Scan run.
#pragma once

#include "tenon/graph/frame.hpp"

namespace tenon {

/// A graph that an operator runs. Values that it captures are read in the scope that the operator runs in.
class GraphBody final : public CapturingBody {
 public:
  explicit GraphBody(Graph graph, Allocator& allocator = default_allocator())
      : graph_(std::move(graph)), runner_(graph_, output_ids(), {}, true, {}, allocator) {}

  const Graph& graph() const { return graph_; }
  int inputs() const override { return static_cast<int>(graph_.inputs().size()); }
  int outputs() const override { return static_cast<int>(graph_.outputs().size()); }
  std::vector<ValueId> outer_values() const override {
    std::vector<ValueId> outer;
    for (ValueId v : graph_.captures()) outer.push_back(graph_.entry(v).outer);
    return outer;
  }
  std::shared_ptr<const CapturingBody> moved(Graph& outer, std::span<const ValueId> here) const override {
    return std::make_shared<const GraphBody>(graph_.moved(outer, here), runner_.allocator());
  }

  std::vector<op::Info> infer(std::span<const op::Info> inputs) const override {
    check_count(inputs.size());
    std::vector<op::Info> infos(graph_.values().size());
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      op::Info& i = infos[static_cast<std::size_t>(graph_.inputs()[k])];
      const op::Info& declared = graph_.entry(graph_.inputs()[k]).info;
      const bool both = declared.type && declared.type.kind != Kind::unknown && inputs[k].type && inputs[k].type.kind != Kind::unknown;
      if (both && !(declared.type == inputs[k].type))
        throw Error(ErrorCode::invalid_type, graph_.name,
                    concat("input ", k, " is ", to_string(inputs[k].type), ", but ", to_string(declared.type), " is declared"));
      i = inputs[k].present() ? inputs[k] : declared;
    }
    for (ValueId v : graph_.captures()) infos[static_cast<std::size_t>(v)] = graph_.entry(v).info;
    const detail::Plan plan = runner_.plan(std::move(infos));
    std::vector<op::Info> out;
    for (const auto& [name, v] : graph_.outputs()) {
      out.push_back(plan.values[static_cast<std::size_t>(v)].info);
      out.back().data = nullptr;
    }
    return out;
  }

  std::vector<Value> run(op::Context& scope, std::span<const Value> inputs) const override {
    check_count(inputs.size());
    const detail::Frame* outer = graph_.captures().empty() ? nullptr : dynamic_cast<const detail::Frame*>(&scope);
    if (outer == nullptr && !graph_.captures().empty())
      throw Error(ErrorCode::invalid_argument, graph_.name, "a graph that captures values runs within a session only");
    std::vector<const Value*> in;
    for (const Value& v : inputs) in.push_back(&v);
    std::vector<Value> out(graph_.outputs().size());
    runner_.run(in, outer, out);
    return out;
  }

 private:
  std::vector<ValueId> output_ids() const {
    std::vector<ValueId> ids;
    for (const auto& [name, v] : graph_.outputs()) ids.push_back(v);
    return ids;
  }
  void check_count(std::size_t given) const {
    if (given != graph_.inputs().size())
      throw Error(ErrorCode::invalid_model, graph_.name,
                  concat("the graph has ", graph_.inputs().size(), " inputs, and is given ", given));
  }

  Graph graph_;
  mutable detail::Runner runner_;
};

/// A graph as the value of an attribute: op::If{.then_branch = body(std::move(a)), .else_branch = body(std::move(b))}.
inline op::BodyRef body(Graph graph) { return {std::make_shared<const GraphBody>(std::move(graph))}; }

}  // namespace tenon
