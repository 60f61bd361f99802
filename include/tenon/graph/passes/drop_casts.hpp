// drop_casts: removes Identities and Casts to the same type, and converts constants of a CastLike. The bodies
// of ONNX's functions are full of them, and they hide patterns from later passes. Extents that are known,
// such as the size of heads of which a scale is computed, become constants where a Cast reads them.
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
  if (program.is_captured(y)) return program.skipped(n, "a body reads its result");
  if (program.is_output(y)) {
    if (program.readers(y).empty()) return program.skipped(n, "its result is an output");
    program.applied(n, "left to the output alone");
    for (const int m : std::vector<int>(program.readers(y).begin(), program.readers(y).end()))
      program.redirect(m, y, x);
    return;
  }
  program.applied(n, "dropped");
  program.redirect(y, x);
}

/// The integers of v as a constant, if inference knows all of them; else v.
inline ValueId known_integers(Program& program, ValueId v) {
  const op::Info& i = program.info(v);
  const op::PropagatedData& known = i.propagated;
  if (program.stored(v) || i.type != Type(DType::int64) || !known.known() || i.dims.rank() > 1 ||
      !i.dims.count().is(known.size()))
    return v;
  Extents extents;
  if (i.dims.rank() == 1) extents.push_back(known.size());
  Tensor<int64_t> t = Tensor<int64_t>::uninitialized(extents);
  for (int k = 0; k < known.size(); ++k) {
    if (!known[k].known()) return v;
    t[k] = known[k].value();
  }
  return program.add_constant({}, AnyTensor(std::move(t)));
}

/// Drops node n if its result has its operand's type.
inline void drop_cast(Program& program, int n) {
  if (const ValueId x = program.node(n).inputs[0], known = known_integers(program, x); known != x) {
    program.applied(n, "its operand is known");
    program.redirect(n, x, known);
  }
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
