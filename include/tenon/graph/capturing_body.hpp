// CapturingBody: a graph attribute that can read values of the graph around it.
#pragma once

#include "tenon/graph/node.hpp"

namespace tenon::TENON_ABI {

class Graph;
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
  /// Whether a node that runs the body over constants may be computed before any run: each run of the body
  /// gives the same, and what it computes with is small.
  virtual bool may_fold() const { return false; }
  /// The body compiled for one program (graph/program.hpp).
  virtual std::shared_ptr<const CapturingBody> compiled(const ProgramScope& scope,
                                                        const ProgramOptions& options) const = 0;
};

namespace detail {
/// Extents that rules tell, or where they tell none, those that a file declares.
inline Dims completed(Dims told, const Dims& declared) {
  if (!told.ranked()) return declared;
  for (int k = 0; k < told.rank() && told.rank() == declared.rank(); ++k)
    if (!told[k].known() && declared[k].known()) told[k] = declared[k];
  return told;
}
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
/// Whether an operator over constants may be computed before any run.
inline bool may_fold(const AnyOperator& op) {
  bool all = op.takes_graphs();
  if (!all || op.spec().deterministic) return op.spec().deterministic;
  for (const op::AttributeInfo& a : op.attributes())
    if (const auto* body = std::get_if<op::BodyRef>(&a.value); body != nullptr && *body)
      all = all && (*body)->capturing() != nullptr && (*body)->capturing()->may_fold();
  return all;
}
}  // namespace detail

}  // namespace tenon::TENON_ABI
