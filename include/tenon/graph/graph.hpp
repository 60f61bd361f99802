// Graph: a list of nodes over named values, built in code with typed edges or by a loader with erased ones.
#pragma once

#include <map>
#include <optional>

#include "tenon/graph/capturing_body.hpp"
#include "tenon/graph/edge.hpp"
#include "tenon/op/framework/registry.hpp"
#include "tenon/op/framework/typed.hpp"

namespace tenon::TENON_ABI {

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
    ValueId outer = -1;     ///< of a capture, or a constant that is a copy: the value of the enclosing graph
    bool optional = false;  ///< of an input: it has a default value

    /// Whether this is a constant whose elements are not in the graph.
    bool is_outside() const {
      return source == Source::constant && !content && info.type.kind == Kind::tensor;
    }
  };
  using Node = GraphNode;
  static constexpr int64_t small_bytes = 128;  ///< the pads of a tensor of eight axes

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
  /// A constant whose elements are elsewhere: rules see its type and extents, and a session refuses the
  /// graph.
  ValueId add_constant(std::string name, Type type, const Dims& dims) {
    op::Info info;
    info.type = type;
    info.dims = dims;
    return add_value({std::move(name), Source::constant, info, {}, -1});
  }
  /// Adds a node over values of this graph. `inputs` holds -1 for operands left out. `outputs` holds a name,
  /// or "", for each result; trailing obligatory results may be left out. Error{invalid_model}, with the
  /// node's name, if the operator's rule forbids the operands, {invalid_type} if it forbids their types.
  std::vector<ValueId> add_node(std::string name, AnyOperator op, std::vector<ValueId> inputs,
                                std::span<const std::string> outputs);
  /// `declared` has the extents that a file states for the output of a body; a body that never runs gives
  /// them where its rules tell none.
  void add_output(std::string name, ValueId value, Dims declared = {}) {
    if (value < 0 || value >= static_cast<ValueId>(values_.size()))
      raise(ErrorCode::invalid_model, str_cat("output '", name, "' has no value"));
    // A value may be an output several times.
    if (output_ids_.emplace(name, value).first->second != value)
      raise(ErrorCode::invalid_model, str_cat("output '", name, "' is defined twice"));
    outputs_.emplace_back(std::move(name), value);
    declared_outputs_.push_back(std::move(declared));
  }
  /// Names an unnamed value.
  void name_value(ValueId id, std::string name) {
    if (!name.empty() && !names_.emplace(name, id).second)
      raise(ErrorCode::invalid_model, str_cat("value '", name, "' is defined twice"));
    values_[static_cast<std::size_t>(id)].name = std::move(name);
  }
  /// Makes a value of the enclosing graph available in this graph: a constant by a copy that shares its
  /// elements.
  ValueId capture(ValueId outer) {
    if (const auto it = captured_.find(outer); it != captured_.end()) return it->second;
    ValueEntry& e = outer_->values_[static_cast<std::size_t>(outer)];
    if (e.source == Source::constant && !e.is_outside()) {
      if (e.content.is_tensor() && !e.content.tensor().aligned()) e.content = e.content.tensor().clone();
      const ValueId id = add_value({{}, Source::constant, e.info, e.content, outer});
      captured_.emplace(outer, id);
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
  /// not run. Copies of small ones stay: shapes, axes and scales, on which the extents of other values
  /// depend.
  void drop_contents() {
    for (ValueEntry& e : values_) {
      const bool stays = e.content.is_tensor() && e.content.tensor().bytes() <= small_bytes;
      e.content = stays ? Value(e.content.tensor().clone()) : Value();
      e.info.data = nullptr;
    }
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
  /// `outer` that replaces value v of the old enclosing graph; copies of constants may do without (-1).
  [[nodiscard]] Graph moved(Graph& outer, std::span<const ValueId> here) const;
  /// Adds the nodes of another graph (a function, in ONNX's terms), with `inputs` as its inputs. Returns this
  /// graph's values for its outputs. Names get the prefix. Error{invalid_argument} if the number of inputs
  /// differs or the other graph captures values.
  std::vector<ValueId> add_graph(const Graph& function, std::span<const ValueId> inputs,
                                 std::string_view prefix = {});

  /// Result k of a node, by its number. A node that did not make the optional result makes it from now on.
  ValueId result(std::size_t node, std::size_t k);

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
  const std::vector<Dims>& declared_outputs() const { return declared_outputs_; }
  const std::vector<ValueId>& captures() const { return captures_; }
  /// For each value, whether one of these values depends on it or is it.
  [[nodiscard]] std::vector<bool> needed_by(std::span<const ValueId> outputs) const {
    std::vector<bool> needed(values_.size());
    const auto mark = [&](std::span<const ValueId> values) {
      for (ValueId v : values)
        if (v >= 0) needed[static_cast<std::size_t>(v)] = true;
    };
    mark(outputs);
    for (std::size_t k = nodes_.size(); k-- > 0;)
      if (makes(nodes_[k], needed)) mark(nodes_[k].inputs), mark(nodes_[k].captures);
    return needed;
  }
  /// Whether the node makes one of these values.
  static bool makes(const Node& n, const std::vector<bool>& values) {
    return std::ranges::any_of(n.outputs, [&](ValueId v) { return values[static_cast<std::size_t>(v)]; });
  }
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
    tenon::raise(code, name_.empty() ? std::string("graph") : str_cat("graph '", name_, "'"),
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

  template <class A>
  struct Argument;
  template <int Count, class Op, class Static, class... A>
  auto add_typed(const Op& op, const A&... a);
  ValueId argument_id(const AnyEdge& e) {
    if (e.graph != this && e.id >= 0) raise(ErrorCode::invalid_argument, "an edge belongs to another graph");
    return e.id;
  }
  template <class A>
  ValueId argument_id(const A& a);
  template <int Count>
  auto any_edges(const std::vector<ValueId>& ids);

  std::string name_;
  std::vector<Node> nodes_;
  std::vector<ValueEntry> values_;
  std::map<std::string, ValueId, std::less<>> names_;
  std::vector<ValueId> inputs_, captures_;
  std::map<ValueId, ValueId> captured_;  // by the values of the enclosing graph
  std::vector<std::pair<std::string, ValueId>> outputs_;
  std::vector<Dims> declared_outputs_;
  std::map<std::string, ValueId, std::less<>> output_ids_;
  Graph* outer_ = nullptr;
  std::shared_ptr<Symbols> symbols_;
};

}  // namespace tenon::TENON_ABI

#include "tenon/graph/graph_impl.hpp"
#include "tenon/graph/graph_typed.hpp"
