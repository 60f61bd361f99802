// Program: the part of a graph that a set of outputs needs, with constants folded and passes applied. Independent of extents.
#pragma once

#include "tenon/graph/graph.hpp"

namespace tenon {

class Program;

/// A rewrite of programs: same results, less work. Passes see a program after constants were folded.
struct Pass {
  std::string_view name;
  void (*apply)(Program& program);
};

namespace detail {

/// Rethrows an Error with the node in front of its place.
[[noreturn]] inline void rethrow_at(const Graph::Node& n, const Error& e) {
  throw Error(e.code(), e.where() == n.op.spec().name ? describe(n) : concat(describe(n), ": ", e.where()), e.message());
}

}  // namespace detail

class Program {
 public:
  using Node = Graph::Node;

  /// `outputs` are values of the graph; `given` are inputs that a run gives although they have a value of their own.
  Program(const Graph& graph, std::vector<ValueId> outputs, std::span<const ValueId> given, bool fold,
          std::span<const Pass> passes)
      : graph_(graph), outputs_(std::move(outputs)), constants_(graph.values().size()) {
    for (std::size_t v = 0; v < constants_.size(); ++v) {
      const Graph::ValueEntry& e = graph.values()[v];
      const bool overridden = std::find(given.begin(), given.end(), static_cast<ValueId>(v)) != given.end();
      if (e.source == Graph::Source::constant || (e.source == Graph::Source::input && !overridden)) constants_[v] = e.content;
    }
    std::vector<bool> needed = find_needed();
    for (std::size_t n = 0; n < graph.nodes().size(); ++n)
      if (needed[n] && !(fold && fold_node(graph.nodes()[n]))) nodes_.push_back(graph.nodes()[n]);
    if (!passes.empty()) infer();
    for (const Pass& pass : passes) pass.apply(*this);
    infos_ = {};
    drop_unneeded();
  }

  const Graph& graph() const { return graph_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  /// What runs, in order.
  const std::vector<Node>& nodes() const { return nodes_; }
  /// What a value is when it does not depend on a run, else empty.
  const Value& constant(ValueId v) const { return constants_[static_cast<std::size_t>(v)]; }
  /// Whether a node or an output reads the value.
  bool used(ValueId v) const { return used_[static_cast<std::size_t>(v)]; }

  // --- for passes ---

  /// The type and extents of a value, as far as they are known before a run; not present() where a node's rule forbids
  /// its operands, which is for the plan to say.
  const op::Info& info(ValueId v) const { return infos_[static_cast<std::size_t>(v)]; }
  /// For every value, the number of the node that alone reads it, once; -1 where none or several do, or it is an output.
  std::vector<int> only_readers() const {
    constexpr int none = -1, several = -2;
    std::vector<int> reader(constants_.size(), none);
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      for_each_operand(nodes_[n], [&](ValueId v) {
        int& r = reader[static_cast<std::size_t>(v)];
        r = r == none ? static_cast<int>(n) : several;
      });
    for (ValueId v : outputs_) reader[static_cast<std::size_t>(v)] = several;
    std::replace(reader.begin(), reader.end(), several, none);
    return reader;
  }
  /// Puts a node in the place of the one of that number, for the same results.
  void replace(int number, AnyOperator op, std::vector<ValueId> inputs) {
    Node& n = nodes_[static_cast<std::size_t>(number)];
    n.op = std::move(op);
    n.inputs = std::move(inputs);
  }
  /// Removes the nodes of these numbers.
  void remove(const std::vector<int>& numbers) {
    std::vector<bool> gone(nodes_.size());
    for (int n : numbers) gone[static_cast<std::size_t>(n)] = true;
    std::size_t at = 0;
    std::erase_if(nodes_, [&](const Node&) { return gone[at++]; });
  }

 private:
  template <class F>
  static void for_each_operand(const Node& n, F f) {
    for (ValueId v : n.inputs)
      if (v >= 0) f(v);
    for (ValueId v : n.captures) f(v);
  }

  std::vector<bool> find_needed() {
    used_.assign(constants_.size(), false);
    for (ValueId v : outputs_) used_[static_cast<std::size_t>(v)] = true;
    std::vector<bool> needed(graph_.nodes().size());
    for (std::size_t n = graph_.nodes().size(); n-- > 0;) {
      const Node& node = graph_.nodes()[n];
      for (ValueId v : node.outputs)
        if (used_[static_cast<std::size_t>(v)]) needed[n] = true;
      if (needed[n]) for_each_operand(node, [&](ValueId v) { used_[static_cast<std::size_t>(v)] = true; });
    }
    return needed;
  }

  // The graph's rules went by inputs that have a value as by any; here they are constants.
  void infer() {
    for (const Graph::ValueEntry& e : graph_.values()) infos_.push_back(e.info);
    for (std::size_t v = 0; v < constants_.size(); ++v)
      if (constants_[v]) infos_[v] = op::detail::info_of(constants_[v]);
    std::vector<op::Info> in, out;
    for (const Node& n : nodes_) {
      in.clear();
      out.assign(n.outputs.size(), {});
      for (ValueId v : n.inputs) in.push_back(v < 0 ? op::Info{} : infos_[static_cast<std::size_t>(v)]);
      bool fits = false;
      try {
        fits = n.op.infer(in, out).empty();
      } catch (const Error&) {
      }
      if (!fits) out.assign(n.outputs.size(), {});
      for (std::size_t k = 0; k < out.size(); ++k) infos_[static_cast<std::size_t>(n.outputs[k])] = out[k];
    }
  }

  // Constants that only folded nodes read are freed, and the values that remain in use are counted anew.
  void drop_unneeded() {
    used_.assign(constants_.size(), false);
    for (ValueId v : outputs_) used_[static_cast<std::size_t>(v)] = true;
    for (const Node& n : nodes_) for_each_operand(n, [&](ValueId v) { used_[static_cast<std::size_t>(v)] = true; });
    for (std::size_t v = 0; v < constants_.size(); ++v)
      if (!used_[v]) constants_[v] = {};
  }

  bool fold_node(const Node& n) {
    bool all = n.op.spec().deterministic && n.captures.empty();
    for_each_operand(n, [&](ValueId v) { all &= static_cast<bool>(constant(v)); });
    if (!all) return false;
    std::vector<const Value*> in;
    for (ValueId v : n.inputs) in.push_back(v < 0 ? nullptr : &constant(v));
    std::vector<Value> out;
    // What fails here fails in the run, if one comes to it: the branch of an If may never be taken.
    try {
      op::Context context;
      out = op::evaluate(n.op, context, in, n.outputs.size());
    } catch (const Error&) {
      return false;
    }
    for (std::size_t k = 0; k < out.size(); ++k)
      if (!out[k] && used(n.outputs[k])) return false;
    for (std::size_t k = 0; k < out.size(); ++k) constants_[static_cast<std::size_t>(n.outputs[k])] = std::move(out[k]);
    return true;
  }

  const Graph& graph_;
  std::vector<ValueId> outputs_;
  std::vector<Value> constants_;
  std::vector<Node> nodes_;
  std::vector<op::Info> infos_;  // for passes
  std::vector<bool> used_;
};

}  // namespace tenon
