// take_branches: replaces an If whose condition is the same in every run with the nodes of the branch that
// runs, so that other passes see across its border, and the other branch is not compiled.
#pragma once

#include <optional>

#include "tenon/graph/passes/match.hpp"
#include "tenon/op/controlflow/if.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

/// The element of a value that has one, if it is the same in every run.
inline std::optional<bool> known_condition(const Program& program, ValueId v) {
  if (const Value& c = program.stored(v)) {
    if (!c.is_tensor() || c.tensor().dtype() != DType::bool_ || c.tensor().size() != 1) return {};
    return *static_cast<const bool*>(c.tensor().data());
  }
  const op::Info& i = program.info(v);
  const bool known = i.type == Type(DType::bool_) && i.dims.known() && i.propagated.known() &&
                     i.propagated.size() == 1 && i.propagated[0].known();
  return known ? std::optional(i.propagated[0].value() != 0) : std::nullopt;
}

}  // namespace detail

inline ReplacingBody taken_branch(const Program& program, const GraphNode& node) {
  const auto* op = node.op.as<op::If>();
  if (op == nullptr || node.inputs.size() != 1 || node.inputs[0] < 0) return {};
  const std::optional<bool> condition = detail::known_condition(program, node.inputs[0]);
  if (!condition) return {};
  const op::BodyRef& branch = *condition ? op->then_branch : op->else_branch;
  const CapturingBody* const body = branch ? branch->capturing() : nullptr;
  if (body == nullptr || body->inputs() != 0 || body->outputs() < static_cast<int>(node.outputs.size()))
    return {};
  return {body, *condition ? "then_branch" : "else_branch"};
}

inline void apply_take_branches(Program& program) {
  program.for_each<op::If>(
      [&](int n, const op::If&) { program.skipped(n, "its condition is known in the run only"); });
}

inline ValueId branch_condition(const GraphNode& node) {
  return node.op.as<op::If>() != nullptr && node.inputs.size() == 1 ? node.inputs[0] : -1;
}

inline constexpr Pass take_branches{"take_branches", apply_take_branches, nullptr, taken_branch,
                                    branch_condition};

}  // namespace tenon::TENON_ABI::passes
