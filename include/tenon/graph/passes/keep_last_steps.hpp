// keep_last_steps: where a run wants the last steps of an output only, a product on the way to it reads the
// last rows of its operand only. Each step of what follows must be computed from that step alone.
#pragma once

#include "tenon/graph/fused/last_rows.hpp"
#include "tenon/graph/passes/match.hpp"
#include "tenon/op/math/mat_mul.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

/// Whether y is (batch, steps, size), as is x, with the same steps.
inline bool has_steps_of(const Program& program, ValueId y, ValueId x) {
  const Dims &of_y = program.info(y).dims, &of_x = program.info(x).dims;
  return of_y.ranked() && of_y.rank() == 3 && of_x.ranked() && of_x.rank() == 3 && of_y[1].same(of_x[1]);
}

/// Whether a value that broadcasts to (batch, steps, size) is the same for all steps.
inline bool has_no_steps(const Program& program, ValueId v) {
  const Dims& dims = program.info(v).dims;
  return dims.ranked() && dims.rank() <= 3 && (dims.rank() < 2 || dims[dims.rank() - 2].is(1));
}

/// The operand, (batch, steps, size), of whose steps the node's only result is a function, step by step; -1:
/// there is none.
inline ValueId source_of_steps(const Program& program, const Graph::Node& n) {
  if (n.inputs.empty() || n.outputs.size() != 1 || !n.captures.empty()) return -1;
  const ValueId y = n.outputs[0];
  const bool product = n.op.as<op::MatMul>() != nullptr && n.inputs[0] != n.inputs[1];
  if (product || n.op.elements() == op::Elements::function)
    return has_steps_of(program, y, n.inputs[0]) ? n.inputs[0] : -1;
  if (n.op.elements() != op::Elements::arithmetic) return -1;
  ValueId source = -1;
  for (const ValueId v : n.inputs) {
    if (v >= 0 && has_no_steps(program, v)) continue;
    if (v < 0 || source >= 0 || !has_steps_of(program, y, v)) return -1;
    source = v;
  }
  return source;
}

}  // namespace detail

inline void apply_keep_last_steps(Program& program) {
  if (!program.last_steps_of()) return;  // a body's program
  const ValueId output = program.outputs()[*program.last_steps_of()];
  int first = -1;  // the first product of the chain to the output
  ValueId v = output;
  const auto is_read_by = [&](int reader) {
    if (v != output) return program.only_reader(v) == reader;
    return program.readers(v).empty() && std::ranges::count(program.outputs(), v) == 1;
  };
  for (int reader = -1, n; (n = program.maker(v)) >= 0 && is_read_by(reader); reader = n) {
    const ValueId source = detail::source_of_steps(program, program.node(n));
    if (source < 0) break;
    if (program.node(n).op.as<op::MatMul>() && is_fused_type(program, source)) first = n;
    v = source;
  }
  if (first < 0 || made_by<LastRows>(program, program.node(first).inputs[0]) != nullptr) return;
  program.applied(first, "computes the last steps only");
  const ValueId x = program.node(first).inputs[0];
  op::Info count;
  count.type = DType::int64, count.dims = Dims::of_rank(0);
  program.redirect(first, x,
                   program.add_node(first, AnyOperator::make<LastRows, fused_types.tensor>({}),
                                    {x, program.add_given("last_steps", count)})[0]);
}

/// Reads Program::last_steps_of. It comes first, before products are packed.
inline constexpr Pass keep_last_steps{"keep_last_steps", apply_keep_last_steps};

}  // namespace tenon::TENON_ABI::passes
