// Function bodies of graph.hpp: nodes that are added singly, in place of an operator, or from another graph.
#pragma once

#include "tenon/base/platform/exceptions.hpp"
#include "tenon/graph/graph.hpp"

namespace tenon::TENON_ABI {

namespace detail {
/// Turns a numeric attribute into an operand. The operand gets the element type of `like`, which is known
/// only in the run.
struct AttributeElement {
  float value = 0;

  static constexpr op::Spec spec =
      op::own_spec("AttributeElement", {{"like", "T"}}, {{"element", "T"}}, {{"T", types::numeric_bf16}});
  constexpr void infer(op::Infer& i) const { i.out(0, Dims::of_rank(0)); }
  void compute(AnyView, AnyOut element) const {
    convert_n(element.dtype(), element.data(), DType::float32, &value, 1);
  }
};
}  // namespace detail

/// Adds nodes to the graph in place of a node.
class Graph::LoweredNode final : public Lowering {
 public:
  LoweredNode(Graph& graph, const Node& node, std::span<const op::Info> in)
      : Lowering(in, node.op.version()), graph_(graph), node_(node) {}

  ValueId input(int number) const override {
    const auto at = static_cast<std::size_t>(number);
    return at < node_.inputs.size() ? node_.inputs[at] : -1;
  }
  AnyTensor elements(int number) const override {
    const ValueId v = input(number);
    if (v < 0 || graph_.entry(v).source != Source::constant) return {};
    const Value& content = graph_.entry(v).content;
    return content.is_tensor() ? content.tensor() : AnyTensor();
  }
  ValueId constant(const AnyTensor& tensor) override { return graph_.add_constant({}, tensor); }

 private:
  std::vector<ValueId> add_node(AnyOperator op, std::span<const ValueId> inputs,
                                std::size_t results) override {
    return graph_.add_node(node_.name, op.in_place_of(node_.op), {inputs.begin(), inputs.end()},
                           std::vector<std::string>(results));
  }

  Graph& graph_;
  const Node& node_;
};

inline op::Info Graph::operand_info(ValueId id) const {
  if (id >= static_cast<ValueId>(values_.size()))
    raise(ErrorCode::invalid_model, "an input is not of this graph");
  op::Info info = id < 0 ? op::Info{} : entry(id).info;
  if (id >= 0 && entry(id).source == Source::constant) info.data = op::info_of(entry(id).content).data;
  return info;
}

/// Turns attributes of the operator's version into inputs if they are inputs in the newest version.
inline void Graph::add_attribute_inputs(Node& n, std::vector<op::Info>& in) {
  const auto make = [&](std::size_t at, const op::AttributeValue& value, DType element) {
    if (n.inputs.size() <= at) n.inputs.resize(at + 1, -1);
    if (const auto* number = std::get_if<float>(&value); number != nullptr && element == DType::undefined)
      n.inputs[at] = add_node({}, AnyOperator::make(detail::AttributeElement{*number}), {n.inputs[0]}, {})[0];
    else n.inputs[at] = add_constant({}, op::input_from_attribute(value, element));
    return operand_info(n.inputs[at]);
  };
  if (const op::Message m = n.op.add_attribute_inputs(in, make); !m.empty())
    tenon::raise(ErrorCode::invalid_model, detail::describe(n), m.view());
  n.op = n.op.with_newest_inputs();
}

inline std::vector<ValueId> Graph::add_node(std::string node_name, AnyOperator op,
                                            std::vector<ValueId> inputs,
                                            std::span<const std::string> outputs) {
  Node n{std::move(node_name), std::move(op), std::move(inputs), {}, {}};
  if (n.name.empty()) n.name = str_cat(n.op.spec().name, "_", nodes_.size());
  const auto made =
      std::max(outputs.size(), static_cast<std::size_t>(n.op.spec().min_outputs(n.op.version())));
  std::vector<op::Info> in, out(made);
  for (ValueId id : n.inputs) in.push_back(operand_info(id));
  if (!n.op.newest_inputs()) add_attribute_inputs(n, in);
  const op::Message m =
      detail::attempt<Error>([&] { return n.op.infer(in, out); },
                             [&](const Error& e) { tenon::raise(e.code(), detail::describe(n), e.what()); });
  if (!m.empty())
    tenon::raise(m.code() == ErrorCode::invalid_type ? m.code() : ErrorCode::invalid_model,
                 detail::describe(n), m.view(), " [", op::describe_operands(n.op.spec(), in, n.op.version()),
                 "]");
  if (made == 1 && n.op.renews()) {
    LoweredNode renewed(*this, n, in);
    if (const ValueId id = n.op.renew(renewed); id >= 0) {
      if (made == outputs.size()) name_value(id, outputs[0]);
      return {id};
    }
  }
  n.captures = detail::outer_values(n.op);
  for (std::size_t k = 0; k < made; ++k)
    n.outputs.push_back(
        add_value({k < outputs.size() ? outputs[k] : std::string(), Source::node, out[k], {}, -1}));
  nodes_.push_back(std::move(n));
  return nodes_.back().outputs;
}

inline ValueId Graph::result(std::size_t node, std::size_t k) {
  Node& n = nodes_[node];
  if (k >= n.outputs.size()) {
    std::vector<op::Info> in, out(k + 1);
    for (ValueId id : n.inputs) in.push_back(operand_info(id));
    if (const op::Message m = n.op.infer(in, out); !m.empty())
      tenon::raise(ErrorCode::invalid_model, detail::describe(n), m.view());
    for (std::size_t j = n.outputs.size(); j <= k; ++j)
      n.outputs.push_back(add_value({{}, Source::node, out[j], {}, -1}));
  }
  return n.outputs[k];
}

template <class F>
std::optional<Graph> Graph::function_of(const Node& node, F content) const {
  if (!node.op.lowers()) return {};
  Graph g;
  g.symbols_ = symbols_;
  Node n{node.name, node.op, {}, {}, {}};
  std::vector<op::Info> in;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const ValueId v = node.inputs[k];
    if (v < 0) n.inputs.push_back(-1);
    else if (Value known = content(k)) n.inputs.push_back(g.add_constant({}, std::move(known)));
    else n.inputs.push_back(g.add_input(str_cat("in", k), entry(v).info.type, entry(v).info.dims));
    in.push_back(g.operand_info(n.inputs.back()));
  }
  LoweredNode lowered(g, n, in);
  const std::vector<ValueId> results = n.op.lower(lowered);
  if (results.empty()) return {};
  if (results.size() < node.outputs.size())
    tenon::raise(ErrorCode::invalid_model, detail::describe(node), "lower gives ", results.size(), " of ",
                 node.outputs.size(), " results");
  for (std::size_t k = 0; k < node.outputs.size(); ++k) g.add_output(str_cat("out", k), results[k]);
  return g;
}

inline std::vector<ValueId> Graph::add_graph(const Graph& function, std::span<const ValueId> inputs,
                                             std::string_view prefix) {
  if (inputs.size() != function.inputs_.size())
    raise(ErrorCode::invalid_argument, str_cat("graph '", function.name_, "' has ", function.inputs_.size(),
                                               " inputs, not ", inputs.size()));
  if (!function.captures_.empty())
    raise(ErrorCode::invalid_argument, "a graph that captures values cannot be a function");
  std::vector<ValueId> here(function.values_.size(), -1);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    here[static_cast<std::size_t>(function.inputs_[k])] = inputs[k];
  return add_nodes(function, std::move(here), prefix);
}

inline Graph Graph::moved(Graph& outer, std::span<const ValueId> here) const {
  Graph g = inside(outer);
  g.name_ = name_;
  std::vector<ValueId> ids(values_.size(), -1);
  const auto renamed = [&](Dims dims) {
    for (int k = 0; k < dims.rank(); ++k)
      if (dims[k].symbolic()) dims[k] = g.symbol(symbol_name(dims[k]));
    return dims;
  };
  for (ValueId id : inputs_) {
    const ValueEntry& e = entry(id);
    ids[static_cast<std::size_t>(id)] = g.add_input(e.name, e.info.type, renamed(e.info.dims), e.content);
  }
  for (std::size_t v = 0; v < values_.size(); ++v) {
    const ValueId of = values_[v].outer, now = of < 0 ? -1 : here[static_cast<std::size_t>(of)];
    if (now >= 0) ids[v] = g.capture(now);
  }
  const std::vector<ValueId> results = g.add_nodes(*this, std::move(ids), {});
  for (std::size_t k = 0; k < results.size(); ++k)
    g.add_output(outputs_[k].first, results[k], renamed(declared_outputs_[k]));
  return g;
}

/// Adds the nodes and constants of another graph. here[v] is this graph's value for its value v; inputs and
/// what it has of the graph around are set by the caller. Returns this graph's values for its outputs.
inline std::vector<ValueId> Graph::add_nodes(const Graph& from, std::vector<ValueId> here,
                                             std::string_view prefix) {
  for (std::size_t v = 0; v < here.size(); ++v) {
    const ValueEntry& e = from.values_[v];
    if (here[v] >= 0) continue;
    if (e.is_outside()) here[v] = add_constant({}, e.info.type, e.info.dims);
    else if (e.source == Source::constant) here[v] = add_constant({}, e.content);
  }
  for (const Node& n : from.nodes_) {
    std::vector<ValueId> in;
    for (ValueId id : n.inputs) in.push_back(id < 0 ? -1 : here[static_cast<std::size_t>(id)]);
    std::vector<std::string> names;
    for (ValueId id : n.outputs) {
      const std::string& own = from.entry(id).name;
      names.push_back(own.empty() ? own : str_cat(prefix, own));
    }
    const auto moved = [&](std::string_view, const auto&, const CapturingBody& body) {
      return body.moved(*this, here);
    };
    const auto out =
        add_node(str_cat(prefix, n.name), n.op.takes_context() ? detail::with_bodies(n.op, moved) : n.op,
                 std::move(in), names);
    for (std::size_t k = 0; k < out.size(); ++k) here[static_cast<std::size_t>(n.outputs[k])] = out[k];
  }
  std::vector<ValueId> results;
  for (const auto& [name, id] : from.outputs_) results.push_back(here[static_cast<std::size_t>(id)]);
  return results;
}

}  // namespace tenon::TENON_ABI
