// drop_casts: removes Identities and Casts to the same type, and converts constants of a CastLike. The bodies
// of ONNX's functions are full of them, and they hide patterns from later passes.
#pragma once

#include "tenon/graph/passes/match.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/cast_like.hpp"
#include "tenon/op/tensor/identity.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

/// Makes all nodes read x in place of node n's result. The program's outputs keep values of their own.
inline void drop(Program& program, int n, ValueId x) {
  const ValueId y = program.node(n).outputs[0];
  if (program.is_output(y)) return program.skipped(n, "its result is an output");
  if (program.is_captured(y)) return program.skipped(n, "a body reads its result");
  program.applied(n, "dropped");
  program.redirect(y, x);
}

/// Drops node n if its result has its operand's type.
inline void drop_cast(Program& program, int n) {
  const ValueId x = program.node(n).inputs[0];
  const Type &from = program.info(x).type, &to = program.info(program.node(n).outputs[0]).type;
  if (!fits(program, n) || to.kind != Kind::tensor) return;
  if (from == to) return drop(program, n, x);
  const auto* like = program.node(n).op.as<op::CastLike>();
  if (like == nullptr || !program.stored(x)) return;
  const op::Cast cast{
      .round_mode = like->round_mode, .saturate = like->saturate, .to = static_cast<int64_t>(to.element)};
  drop(program, n, program.add_node(n, AnyOperator::make(cast), {x})[0]);
}

}  // namespace detail

inline void apply_drop_casts(Program& program) {
  program.for_each<op::CastLike>([&](int n, const op::CastLike&) { detail::drop_cast(program, n); });
  program.for_each<op::Cast>([&](int n, const op::Cast&) { detail::drop_cast(program, n); });
  program.for_each<op::Identity>(
      [&](int n, const op::Identity&) { detail::drop(program, n, program.node(n).inputs[0]); });
}

inline constexpr Pass drop_casts{"drop_casts", apply_drop_casts};

}  // namespace tenon::TENON_ABI::passes
