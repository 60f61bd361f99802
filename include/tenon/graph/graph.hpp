// Graph: a list of nodes over named values, built in code with typed edges or by a loader with erased ones.
#pragma once

#include <map>
#include <optional>

#include "tenon/op/framework/registry.hpp"
#include "tenon/op/framework/typed.hpp"

namespace tenon::TENON_ABI {

class Graph;

/// A value of a graph, by its number; -1 is none.
using ValueId = int32_t;

/// A tensor of a graph that is built in code. The compiler checks element type and extents as far as they are
/// part of the type; the operators' rules check them when nodes are added.
template <class T, class S = AnyShape>
struct Edge {
  Graph* graph = nullptr;
  ValueId id = -1;

  template <class To>
    requires(widens<S, To>())
  operator Edge<T, To>() const {
    return {graph, id};
  }
};

/// A value of any type.
struct AnyEdge {
  Graph* graph = nullptr;
  ValueId id = -1;

  AnyEdge() = default;
  AnyEdge(Graph& g, ValueId i) : graph(&g), id(i) {}
  template <class T, class S>
  AnyEdge(Edge<T, S> e) : graph(e.graph), id(e.id) {}
};

/// A node of a graph; not nested in Graph, so that headers that only name it do not need Graph.
struct GraphNode {
  std::string name;
  AnyOperator op;
  std::vector<ValueId> inputs;  ///< -1: left out
  std::vector<ValueId> outputs;
  std::vector<ValueId> captures;  ///< values that the node's graph attributes use
};

/// A list of nodes in the order of their addition, which is a topological order. Values have names, types,
/// extents as far as the operators' rules determine them, and contents if they are constant. A graph that is
/// an operator's attribute may use values of the enclosing graph: `capture`.
class Graph {
 public:
  enum class Source : uint8_t { input, constant, node, capture };

  struct ValueEntry {
    std::string name;
    Source source = Source::node;
    op::Info info;          ///< type and extents; a capture has the outer value's
    Value content;          ///< a constant's value (its tensor may not be AnyTensor::aligned), or an input's
                            ///< value in runs that give none
    ValueId outer = -1;     ///< of a capture: the value of the enclosing graph
    bool optional = false;  ///< of an input: it has a default value
  };
  using Node = GraphNode;

  Graph() : symbols_(std::make_shared<Symbols>()) {}
  /// A graph within another, whose values it may capture; for the attributes of If, Loop and Scan.
  [[nodiscard]] static Graph inside(Graph& outer) {
    Graph g;
    g.outer_ = &outer;
    g.symbols_ = outer.symbols_;
    return g;
  }
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  // --- typed building ---

  /// A graph input.
  template <class T, class S = AnyShape>
  Edge<T, S> input(std::string name) {
    const op::Info i = op::info_of_type<T, S>();
    return {this, add_input(std::move(name), i.type, i.dims)};
  }
  /// A constant; shares the tensor's elements.
  template <class T, class S>
  Edge<T, S> constant(const Tensor<T, S>& tensor, std::string name = {}) {
    return {this, add_constant(std::move(name), tensor)};
  }
  /// Adds a node. Operands are edges of this graph, tensors, expressions (array/), numbers or `constant<…>`
  /// (which become constants), or `none`. Returns an Edge, a tuple of Edges, or AnyEdges if the element type
  /// is known only at run time. Error if the operator forbids the operands and the compiler could not detect
  /// it. Count requests more than the obligatory results.
  template <int Count = 0, op::Operator Op, class... A>
  auto add(const Op& op, const A&... a) {
    return add_typed<Count, Op, op::RunTimeAttributes<Op>>(op, a...);
  }
  /// The same with attributes known at compile time: g.add<op::Conv{.strides = {2, 2}}>(x, w).
  template <auto Op, int Count = 0, class... A>
  auto add(const A&... a) {
    return add_typed<Count, std::remove_cv_t<decltype(Op)>, op::KnownAttributes<Op>>(Op, a...);
  }
  /// Makes a value a graph output.
  void output(std::string name, const AnyEdge& edge) { add_output(std::move(name), argument_id(edge)); }

  // --- erased building: what loaders use ---

  /// The symbolic extent with a name, such as "batch".
  Dim symbol(std::string_view name) {
    auto it = symbols_->numbers.find(name);
    if (it == symbols_->numbers.end()) {
      it = symbols_->numbers.emplace(name, static_cast<int32_t>(symbols_->names.size()) + 1).first;
      symbols_->names.push_back(it->first);
    }
    return Dim::symbol(it->second);
  }
  [[nodiscard]] std::string_view symbol_name(Dim d) const {
    return symbols_->names[static_cast<std::size_t>(d.symbol() - 1)];
  }

  /// `fallback` is the input's value in a run that does not provide one.
  ValueId add_input(std::string name, Type type, const Dims& dims, Value fallback = {}) {
    op::Info info;
    info.type = type;
    info.dims = dims;
    const bool optional = static_cast<bool>(fallback);
    const ValueId id = add_value({std::move(name), Source::input, info, std::move(fallback), -1, optional});
    inputs_.push_back(id);
    return id;
  }
  ValueId add_constant(std::string name, Value value) {
    op::Info info = op::info_of(value);
    return add_value({std::move(name), Source::constant, info, std::move(value), -1});
  }
  /// Adds a node over values of this graph. `inputs` holds -1 for operands left out. `outputs` holds a name,
  /// or "", for each result; trailing obligatory results may be left out. Error{invalid_model}, with the
  /// node's name, if the operator's rule forbids the operands, {invalid_type} if it forbids their types.
  std::vector<ValueId> add_node(std::string name, AnyOperator op, std::vector<ValueId> inputs,
                                std::span<const std::string> outputs);
  void add_output(std::string name, ValueId value) {
    if (value < 0 || value >= static_cast<ValueId>(values_.size()))
      raise(ErrorCode::invalid_model, str_cat("output '", name, "' has no value"));
    // A value may be an output several times.
    if (output_ids_.emplace(name, value).first->second != value)
      raise(ErrorCode::invalid_model, str_cat("output '", name, "' is defined twice"));
    outputs_.emplace_back(std::move(name), value);
  }
  /// Names an unnamed value.
  void name_value(ValueId id, std::string name) {
    if (!name.empty() && !names_.emplace(name, id).second)
      raise(ErrorCode::invalid_model, str_cat("value '", name, "' is defined twice"));
    values_[static_cast<std::size_t>(id)].name = std::move(name);
  }
  /// Makes a value of the enclosing graph available in this graph.
  ValueId capture(ValueId outer) {
    if (const auto it = captured_.find(outer); it != captured_.end()) return it->second;
    ValueEntry& e = outer_->values_[static_cast<std::size_t>(outer)];
    if (e.source == Source::constant) {
      if (e.content.is_tensor() && !e.content.tensor().aligned()) e.content = e.content.tensor().clone();
      const ValueId id = add_value({{}, Source::constant, e.info, e.content, -1});
      return id;
    }
    op::Info info = e.info;
    info.propagated = {};
    const ValueId id = add_value({{}, Source::capture, info, {}, outer});
    captures_.push_back(id);
    captured_.emplace(outer, id);
    return id;
  }
  /// Frees the memory of constants and of inputs' default values. The graph can then still be inspected, but
  /// not run.
  void drop_contents() {
    for (ValueEntry& e : values_) e.content = {}, e.info.data = nullptr;
  }
  /// The value with a name: looked up here, then in the enclosing graphs, from which it is captured. -1 if
  /// there is none.
  [[nodiscard]] ValueId find(std::string_view name) {
    if (const auto it = names_.find(name); it != names_.end()) return it->second;
    if (outer_ == nullptr) return -1;
    const ValueId outer = outer_->find(name);
    if (outer < 0) return -1;
    const ValueId id = capture(outer);
    names_.emplace(std::string(name), id);
    return id;
  }
  [[nodiscard]] ValueId find(std::string_view name) const {
    const auto it = names_.find(name);
    return it == names_.end() ? -1 : it->second;
  }
  /// A copy of this graph within `outer` instead of the graph that it was built in. here[v] is the value in
  /// `outer` that replaces value v of the old enclosing graph.
  [[nodiscard]] Graph moved(Graph& outer, std::span<const ValueId> here) const;
  /// Adds the nodes of another graph (a function, in ONNX's terms), with `inputs` as its inputs. Returns this
  /// graph's values for its outputs. Names get the prefix. Error{invalid_argument} if the number of inputs
  /// differs or the other graph captures values.
  std::vector<ValueId> add_graph(const Graph& function, std::span<const ValueId> inputs,
                                 std::string_view prefix = {});

  /// The function of one of this graph's nodes: a graph of the nodes that its operator's `lower` adds, whose
  /// outputs are the node's results. content(k) is the value of operand k if it is known; such operands
  /// become constants, other present operands inputs, in order. Nothing if the operator has no `lower`, or
  /// `lower` does not handle the operands.
  template <class F>
  std::optional<Graph> function_of(const Node& node, F content) const;
  /// The same with the contents of this graph's constants only.
  std::optional<Graph> function_of(const Node& node) const {
    return function_of(node, [&](std::size_t k) {
      const ValueEntry& e = entry(node.inputs[k]);
      return e.source == Source::constant ? e.content : Value();
    });
  }

  // --- reading ---

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<ValueEntry>& values() const { return values_; }
  const ValueEntry& entry(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<std::pair<std::string, ValueId>>& outputs() const { return outputs_; }
  const std::vector<ValueId>& captures() const { return captures_; }
  /// For messages.
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

 private:
  // Names of symbolic extents, shared by nested graphs.
  struct Symbols {
    std::map<std::string, int32_t, std::less<>> numbers;  // from 1 on
    std::vector<std::string_view> names;
  };

  [[noreturn]] void raise(ErrorCode code, std::string message) const {
    throw Error(code, name_.empty() ? std::string("graph") : str_cat("graph '", name_, "'"),
                std::move(message));
  }
  std::vector<ValueId> add_nodes(const Graph& from, std::vector<ValueId> here, std::string_view prefix);
  class LoweredNode;
  op::Info operand_info(ValueId id) const;
  void add_attribute_inputs(Node& n, std::vector<op::Info>& in);
  ValueId add_value(ValueEntry entry) {
    const auto id = static_cast<ValueId>(values_.size());
    std::string name = std::exchange(entry.name, {});
    values_.push_back(std::move(entry));
    name_value(id, std::move(name));
    return id;
  }

  // How `add` takes an operand: the tensor type for rules at compile time, and the value's id.
  template <class A>
  struct Argument {
    using type = A;  // tensors, numbers, constants, none
    static ValueId id(Graph& g, const A& a) {
      if constexpr (std::is_same_v<A, None>) return -1;
      else if constexpr (requires { a.storage(); }) return g.add_constant({}, a);
      else return g.add_constant({}, AnyTensor::copy_of(op::Operand<A>::view(a)));
    }
  };
  template <Lazy A>
  struct Argument<A> {
    using type = decltype(std::declval<const A&>().eval());
    static ValueId id(Graph& g, const A& a) { return g.add_constant({}, a.eval()); }
  };
  template <class T, class S>
  struct Argument<Edge<T, S>> {
    using type = TensorView<const T, S>;
    static ValueId id(Graph& g, const Edge<T, S>& e) {
      if (e.graph != &g) g.raise(ErrorCode::invalid_argument, "an edge belongs to another graph");
      return e.id;
    }
  };

  template <int Count, class Op, class Static, class... A>
  auto add_typed(const Op& op, const A&... a) {
    constexpr int count = Count > 0 ? Count : std::max(1, Op::spec.min_outputs());
    constexpr bool typed = (!std::is_same_v<A, AnyEdge> && ...);
    const std::vector<std::string> names(count);
    auto ids = [&]<uint32_t Filter>() {
      return add_node({}, AnyOperator::make<Op, Filter>(op), {argument_id(a)...}, names);
    };
    if constexpr ((std::is_same_v<A, op::Invalid> || ...)) {
      return op::Invalid{};
    } else if constexpr (!typed) {
      return any_edges<count>(ids.template operator()<~uint32_t{0}>());
    } else {
      using T = op::TypedCall<Op, Static, count, typename Argument<A>::type...>;
      if constexpr (!T::valid) {
        op::report<op::titled<Op>(T::result.message)>();
        return op::Invalid{};
      } else {
        const std::vector<ValueId> out =
            ids.template operator()<op::filter_of<typename Argument<A>::type...>()>();
        if constexpr (!T::resolved) {
          return any_edges<count>(out);
        } else {
          auto edge = [&]<int I>() {
            using R = typename T::template tensor<I>;
            return Edge<typename R::value_type, typename R::shape_type>{this, out[I]};
          };
          if constexpr (count == 1) return edge.template operator()<0>();
          else
            return [&]<int... I>(std::integer_sequence<int, I...>) {
              return std::tuple { edge.template operator()<I>()... };
            }(std::make_integer_sequence<int, count>{});
        }
      }
    }
  }
  ValueId argument_id(const AnyEdge& e) {
    if (e.graph != this && e.id >= 0) raise(ErrorCode::invalid_argument, "an edge belongs to another graph");
    return e.id;
  }
  template <class A>
  ValueId argument_id(const A& a) {
    return Argument<A>::id(*this, a);
  }
  template <int Count>
  auto any_edges(const std::vector<ValueId>& ids) {
    if constexpr (Count == 1) return AnyEdge(*this, ids[0]);
    else {
      std::array<AnyEdge, Count> edges;
      for (int k = 0; k < Count; ++k)
        edges[static_cast<std::size_t>(k)] = AnyEdge(*this, ids[static_cast<std::size_t>(k)]);
      return edges;
    }
  }

  std::string name_;
  std::vector<Node> nodes_;
  std::vector<ValueEntry> values_;
  std::map<std::string, ValueId, std::less<>> names_;
  std::vector<ValueId> inputs_, captures_;
  std::map<ValueId, ValueId> captured_;  // the captures by the values of the enclosing graph
  std::vector<std::pair<std::string, ValueId>> outputs_;
  std::map<std::string, ValueId, std::less<>> output_ids_;
  Graph* outer_ = nullptr;
  std::shared_ptr<Symbols> symbols_;
};

namespace detail {
/// "node 'conv1' (Conv-11)"
inline std::string describe(const Graph::Node& n) {
  return str_cat("node '", n.name, "' (", n.op.stated(), ")");
}

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

struct ProgramScope;
struct ProgramOptions;

/// A graph attribute that can capture values of the enclosing graph. GraphBody (graph/body.hpp) implements
/// it.
class CapturingBody : public op::Body {
 public:
  const CapturingBody* capturing() const final { return this; }
  virtual const Graph& graph() const = 0;
  /// Values of the enclosing graph that the body reads.
  virtual std::vector<ValueId> outer_values() const = 0;
  /// A copy of the body within `outer`. here[v] is the value in `outer` that replaces value v of the old
  /// enclosing graph.
  virtual std::shared_ptr<const CapturingBody> moved(Graph& outer, std::span<const ValueId> here) const = 0;
  /// The body compiled for one program (graph/program.hpp).
  virtual std::shared_ptr<const CapturingBody> compiled(const ProgramScope& scope,
                                                        const ProgramOptions& options) const = 0;
};

namespace detail {
/// Calls f(body reference, body) if the attribute's value is a graph that can capture.
template <class Value, class F>
void if_capturing(Value& value, F f) {
  if (auto* body = std::get_if<op::BodyRef>(&value))
    if (const CapturingBody* capturing = (*body)->capturing()) f(*body, *capturing);
}
/// A copy of the operator in which each graph attribute that can capture is replaced by the result of
/// change(attribute's name, reference, body).
template <class F>
AnyOperator with_bodies(const AnyOperator& op, F change) {
  if (!op.takes_graphs()) return op;
  return op.with_attributes([&](std::string_view name, op::AttributeValue& value) {
    bool changed = false;
    if_capturing(value, [&](op::BodyRef& body, const CapturingBody& capturing) {
      body.body = change(name, body.body, capturing);
      changed = true;
    });
    return changed;
  });
}
/// The values of the enclosing graph that an operator's graph attributes read.
inline std::vector<ValueId> outer_values(const AnyOperator& op) {
  std::vector<ValueId> all;
  if (!op.takes_graphs()) return all;
  for (const op::AttributeInfo& a : op.attributes())
    if_capturing(a.value, [&](const op::BodyRef&, const CapturingBody& body) {
      const std::vector<ValueId> some = body.outer_values();
      all.insert(all.end(), some.begin(), some.end());
    });
  return all;
}
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
    throw Error(ErrorCode::invalid_model, detail::describe(n), std::string(m.view()));
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
  op::Message m;
  try {
    m = n.op.infer(in, out);
  } catch (const Error& e) {
    throw Error(e.code(), detail::describe(n), e.what());
  }
  if (!m.empty())
    throw Error(m.code() == ErrorCode::invalid_type ? m.code() : ErrorCode::invalid_model,
                detail::describe(n), str_cat(m.view(), " [", op::describe_operands(n.op.spec(), in), "]"));
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
    throw Error(ErrorCode::invalid_model, detail::describe(node),
                str_cat("lower gives ", results.size(), " of ", node.outputs.size(), " results"));
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
  for (ValueId id : inputs_) {
    const ValueEntry& e = entry(id);
    Dims dims = e.info.dims;
    for (int k = 0; k < dims.rank(); ++k)
      if (dims[k].symbolic()) dims[k] = g.symbol(symbol_name(dims[k]));
    ids[static_cast<std::size_t>(id)] = g.add_input(e.name, e.info.type, dims, e.content);
  }
  for (ValueId id : captures_)
    ids[static_cast<std::size_t>(id)] = g.capture(here[static_cast<std::size_t>(entry(id).outer)]);
  const std::vector<ValueId> results = g.add_nodes(*this, std::move(ids), {});
  for (std::size_t k = 0; k < results.size(); ++k) g.add_output(outputs_[k].first, results[k]);
  return g;
}

/// Adds the nodes and constants of another graph. here[v] is this graph's value for its value v; inputs and
/// captures are set by the caller. Returns this graph's values for its outputs.
inline std::vector<ValueId> Graph::add_nodes(const Graph& from, std::vector<ValueId> here,
                                             std::string_view prefix) {
  for (std::size_t v = 0; v < here.size(); ++v)
    if (from.values_[v].source == Source::constant) here[v] = add_constant({}, from.values_[v].content);
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
        add_node(str_cat(prefix, n.name), n.captures.empty() ? n.op : detail::with_bodies(n.op, moved),
                 std::move(in), names);
    for (std::size_t k = 0; k < out.size(); ++k) here[static_cast<std::size_t>(n.outputs[k])] = out[k];
  }
  std::vector<ValueId> results;
  for (const auto& [name, id] : from.outputs_) results.push_back(here[static_cast<std::size_t>(id)]);
  return results;
}

}  // namespace tenon::TENON_ABI
