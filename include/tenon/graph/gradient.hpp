// add_gradient: nodes that compute the derivatives of a value of a graph with respect to others, by
// reverse-mode differentiation.
#pragma once

#include "tenon/graph/gradients/attention.hpp"
#include "tenon/graph/gradients/elementwise.hpp"
#include "tenon/graph/gradients/movement.hpp"
#include "tenon/graph/gradients/normalization.hpp"
#include "tenon/graph/gradients/old.hpp"
#include "tenon/graph/gradients/product.hpp"
#include "tenon/graph/gradients/reduction.hpp"
#include "tenon/graph/gradients/resize.hpp"
#include "tenon/graph/gradients/window.hpp"
#include "tenon/op/tensor/identity.hpp"

namespace tenon::TENON_ABI {

namespace gradients {

/// The rule of an operator, null if there is none.
inline const Rule* find_rule(const OperatorClass& op) {
  for (std::span<const Rule> table :
       {std::span<const Rule>(elementwise_rules), std::span<const Rule>(flat_rules),
        std::span<const Rule>(movement_rules), std::span<const Rule>(product_rules),
        std::span<const Rule>(reduction_rules), std::span<const Rule>(window_rules),
        std::span<const Rule>(normalization_rules), std::span<const Rule>(attention_rules),
        std::span<const Rule>(resize_rules), std::span<const Rule>(old_rules)})
    for (const Rule& r : table)
      if (*r.op == *op.id) return &r;
  return nullptr;
}

/// Calls f(v) for every value of the graph that a node reads. Of constants, bodies have copies.
template <class F>
void for_each_operand(const Graph::Node& n, F f) {
  for (ValueId v : n.inputs)
    if (v >= 0) f(v);
  for (ValueId v : n.captures) f(v);
  if (!n.op.takes_context()) return;  // it runs no bodies
  for (const op::AttributeInfo& a : n.op.attributes())
    tenon::detail::if_capturing(a.value, [&](const op::BodyRef&, const CapturingBody& body) {
      for (const Graph::ValueEntry& e : body.graph().values())
        if (e.source == Graph::Source::constant && e.outer >= 0) f(e.outer);
    });
}

/// The backward walk from y. A value is active if it depends on one of xs; only derivatives with respect to
/// active values are computed. Values of xs and zs are independent: the walk stops at them.
class Differentiation {
 public:
  // Derivatives of derivatives multiply nodes: a few in a file may request any number of them.
  static constexpr int max_nodes = 1'000'000;

  Differentiation(Graph& graph, const Registry& operators, const std::string& name)
      : graph_(graph), writer_(graph, operators, name) {}

  std::vector<ValueId> run(std::span<const ValueId> xs, std::span<const ValueId> zs, ValueId y) {
    const int count = static_cast<int>(graph_.nodes().size());
    for (ValueId v : xs) at(independent_, v) = at(active_, v) = true;
    for (ValueId v : zs) at(independent_, v) = true;
    mark(0, count);
    if (active(y)) {
      add(y, ones_like(writer_.term(y)));
      back(0, count);
    }
    std::vector<ValueId> result;
    for (ValueId x : xs) {
      const Term d = gradient(x);
      result.push_back(d ? d.id : zeros_like(writer_.term(x)).id);
    }
    return result;
  }

  bool active(ValueId v) { return v >= 0 && at(active_, v); }
  /// The derivative with respect to a value so far, false if there is none.
  Term gradient(ValueId v) { return v < 0 ? Term{} : writer_.term(at(gradients_, v) - 1); }
  void add(ValueId v, Term d) {
    if (const Term before = gradient(v)) d = before + d;
    at(gradients_, v) = d.id + 1;
  }
  /// A derivative that goes on through the node that makes the value.
  Term result_gradient(ValueId v) { return v < 0 || at(independent_, v) ? Term{} : gradient(v); }
  void mark(int first, int last) {
    for (int n = first; n < last; ++n) {
      const Graph::Node& node = graph_.nodes()[static_cast<std::size_t>(n)];
      // The elements of an operand that only states a type do not matter.
      const bool typed = node.op.as<op::CastLike>() || node.op.as<tenon::detail::AttributeElement>();
      bool reads = false;
      if (typed) reads = node.inputs.size() > 1 && active(node.inputs[0]);
      else for_each_operand(node, [&](ValueId v) { reads |= active(v); });
      if (reads)
        for (ValueId v : node.outputs)
          if (!at(independent_, v) && may_vary(graph_.entry(v).info.type)) at(active_, v) = true;
    }
  }
  void back(int first, int last) {
    for (int n = last; n-- > first;) {
      const Graph::Node& made = graph_.nodes()[static_cast<std::size_t>(n)];
      if (std::none_of(made.outputs.begin(), made.outputs.end(),
                       [&](ValueId v) { return active(v) && result_gradient(v); }))
        continue;
      Step step(*this, writer_, static_cast<std::size_t>(n));
      step.first_ = static_cast<int>(graph_.nodes().size());
      if (step.first_ > max_nodes)
        raise(ErrorCode::not_supported, "Gradient", "more than ", max_nodes, " nodes");
      if (const Rule* rule = find_rule(step.node_.op.op_class())) rule->apply(step);
      else step.through_function();
    }
  }

 private:
  // Integers, and values computed only from them, are piecewise constant and have no derivative.
  static bool may_vary(Type t) {
    return t.kind != Kind::tensor || t.element == DType::undefined || is_float(t.element);
  }
  /// Grows with the graph.
  template <class T>
  T& at(std::vector<T>& list, ValueId v) {
    if (static_cast<std::size_t>(v) >= list.size()) list.resize(graph_.values().size());
    return list[static_cast<std::size_t>(v)];
  }

  Graph& graph_;
  Writer writer_;
  std::vector<char> active_, independent_;
  std::vector<ValueId> gradients_;  // the value's id plus 1; 0: none
};

inline Term Step::result_gradient(int k) { return differentiation_.result_gradient(y(k).id); }
inline bool Step::wants(int k) { return differentiation_.active(x(k).id); }
inline void Step::give(int k, Term d) {
  if (wants(k)) differentiation_.add(x(k).id, d);
}
inline void Step::through(std::span<const Term> results) {
  const int last = static_cast<int>(w.graph().nodes().size());
  differentiation_.mark(first_, last);
  int k = 0;
  for (Term result : results) {
    if (has_g(k)) {
      if (!result) refuse("no derivative of result ", k, " of ", std::string_view(node_.op.spec().name));
      if (differentiation_.active(result.id)) differentiation_.add(result.id, result_gradient(k));
    }
    ++k;
  }
  for (; k < outputs(); ++k)
    if (has_g(k)) refuse("no derivative of result ", k, " of ", std::string_view(node_.op.spec().name));
  differentiation_.back(first_, last);
}

inline void Step::through_function() {
  // An active constant is a variable of the function.
  const auto content = [&](std::size_t k) {
    const Graph::ValueEntry& e = w.graph().entry(node_.inputs[k]);
    const bool fixed = e.source == Graph::Source::constant && !wants(static_cast<int>(k));
    return fixed ? e.content : Value();
  };
  const std::optional<Graph> function = w.graph().function_of(node_, content);
  if (!function)
    refuse("no derivative of ", std::string_view(node_.op.spec().name),
           node_.op.lowers() ? ", whose function is known only in the run" : "");
  std::vector<ValueId> in;
  for (std::size_t k = 0; k < node_.inputs.size(); ++k)
    if (node_.inputs[k] >= 0 && !content(k)) in.push_back(node_.inputs[k]);
  through(w.add_function(*function, in));
}

/// Adds the nodes between `names` and y again, with `inputs` in place of `names`. Replaces `names` with the
/// new values, and returns the new y. Unchanged values are not computed again.
inline ValueId replay(Graph& graph, const Registry& operators, std::vector<ValueId>& names,
                      std::span<const ValueId> inputs, ValueId y) {
  std::vector<ValueId> here(graph.values().size());
  for (std::size_t v = 0; v < here.size(); ++v) here[v] = static_cast<ValueId>(v);
  std::vector<char> changed(here.size()), fixed(here.size()), needed(here.size());
  for (ValueId v : names) fixed[static_cast<std::size_t>(v)] = true;
  Writer writer(graph, operators);
  const std::size_t count = graph.nodes().size();
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (inputs[k] == names[k]) continue;
    const auto v = static_cast<std::size_t>(names[k]);
    // A value of its own: the same input may stand for two names, and may depend on other ones.
    here[v] = names[k] = writer.add(op::Identity{}, {writer.term(inputs[k])}).id;
    changed[v] = true;
  }
  needed[static_cast<std::size_t>(y)] = true;
  const auto made_for = [&](const Graph::Node& n) {
    return std::any_of(n.outputs.begin(), n.outputs.end(), [&](ValueId v) {
      return needed[static_cast<std::size_t>(v)] && !fixed[static_cast<std::size_t>(v)];
    });
  };
  for (std::size_t n = count; n-- > 0;)
    if (made_for(graph.nodes()[n]))
      for_each_operand(graph.nodes()[n], [&](ValueId v) { needed[static_cast<std::size_t>(v)] = true; });
  for (std::size_t n = 0; n < count; ++n) {
    bool differs = false;
    for_each_operand(graph.nodes()[n],
                     [&](ValueId v) { differs |= changed[static_cast<std::size_t>(v)] != 0; });
    if (!differs || !made_for(graph.nodes()[n])) continue;
    const Graph::Node node = graph.nodes()[n];
    std::vector<ValueId> in;
    for (ValueId v : node.inputs) in.push_back(v < 0 ? -1 : here[static_cast<std::size_t>(v)]);
    const auto moved = [&](std::string_view, const auto&, const CapturingBody& body) {
      return body.moved(graph, here);
    };
    const std::vector<ValueId> out = graph.add_node(
        node.name, node.op.takes_context() ? tenon::detail::with_bodies(node.op, moved) : node.op,
        std::move(in), std::vector<std::string>(node.outputs.size()));
    for (std::size_t k = 0; k < out.size(); ++k) {
      const auto v = static_cast<std::size_t>(node.outputs[k]);
      if (fixed[v]) continue;
      here[v] = out[k];
      changed[v] = true;
    }
  }
  return here[static_cast<std::size_t>(y)];
}

/// The walk ends at values of the enclosing graph. Error if one of them might depend on an x that is also
/// such a value.
inline void check_captures(const Graph& graph, std::span<const ValueId> names, std::size_t xs, ValueId y) {
  const auto is_outer = [&](ValueId v) { return graph.entry(v).outer >= 0; };
  if (std::none_of(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(xs), is_outer)) return;
  std::vector<char> needed(graph.values().size()), independent(graph.values().size());
  for (ValueId v : names) independent[static_cast<std::size_t>(v)] = true;
  const auto need = [&](ValueId v) {
    if (v < 0 || independent[static_cast<std::size_t>(v)]) return;
    if (graph.entry(v).source == Graph::Source::capture)
      raise(ErrorCode::not_supported, "Gradient",
            "y depends on a value of the graph around that neither xs nor zs names");
    needed[static_cast<std::size_t>(v)] = true;
  };
  need(y);
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const Graph::Node& node = graph.nodes()[n];
    if (std::none_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId v) { return needed[static_cast<std::size_t>(v)] != 0; }))
      continue;
    for (ValueId v : node.inputs) need(v);
    for (ValueId v : node.captures) need(v);
  }
}

}  // namespace gradients

/// A function to differentiate: y as a function of the independent values xs and zs. Derivatives with respect
/// to xs are requested. Values in xs and zs may be results of nodes.
struct GradientRequest {
  std::vector<ValueId> xs;
  std::vector<ValueId> zs{};
  ValueId y = -1;
  /// The values of xs and zs at which the derivatives are taken. Empty: xs and zs themselves, so that the
  /// nodes that compute y are not run a second time.
  std::vector<ValueId> inputs{};
  std::string name{};  ///< prefix of the names of the added nodes: "name/Mul_12"
};

/// Adds nodes that compute the derivatives of the sum of y's elements with respect to each of xs, and returns
/// the derivatives, zeros where y does not depend on an x. The derivatives are ordinary values of the graph,
/// and may be differentiated again. Operators of the added nodes come from `operators`: `standard_registry()`
/// (tenon/loader.hpp) in programs that link the loader. Error{not_supported}, with the node's name, if the
/// path from xs to y contains an operator without a derivative.
[[nodiscard]] inline std::vector<ValueId> add_gradient(Graph& graph, const GradientRequest& request,
                                                       const Registry& operators) {
  std::vector<ValueId> names = request.xs;
  names.insert(names.end(), request.zs.begin(), request.zs.end());
  const auto check = [&](ValueId v) {
    if (v < 0 || v >= static_cast<ValueId>(graph.values().size()))
      raise(ErrorCode::invalid_argument, "Gradient", "a value is not of this graph");
  };
  for (ValueId v : names) check(v);
  for (ValueId v : request.inputs) check(v);
  check(request.y);
  const auto check_floats = [&](std::string_view name, ValueId v) {
    if (const Type t = graph.entry(v).info.type;
        t && t.kind != Kind::unknown && !(t.kind == Kind::tensor && is_float(t.element)))
      raise(ErrorCode::invalid_type, "Gradient", name, " is ", to_string(t), ", not a tensor of floats");
  };
  for (ValueId x : request.xs) check_floats("an x", x);
  check_floats("y", request.y);
  gradients::check_captures(graph, names, request.xs.size(), request.y);
  ValueId y = request.y;
  if (!request.inputs.empty()) {
    if (request.inputs.size() != names.size())
      raise(ErrorCode::invalid_argument, "Gradient", request.inputs.size(), " inputs for ", names.size(),
            " values");
    y = gradients::replay(graph, operators, names, request.inputs, y);
  }
  const std::span all(names);
  return gradients::Differentiation(graph, operators, request.name)
      .run(all.first(request.xs.size()), all.subspan(request.xs.size()), y);
}

/// The same for graphs that are built in code: auto [dx, dw] = gradient(loss, operators, x, w).
template <class T, class S, class... X>
auto gradient(const Edge<T, S>& y, const Registry& operators, const X&... xs) {
  const std::vector<ValueId> d = add_gradient(*y.graph, {.xs = {xs.id...}, .y = y.id}, operators);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple<X...>(X{y.graph, d[I]}...);
  }(std::index_sequence_for<X...>{});
}

}  // namespace tenon::TENON_ABI
