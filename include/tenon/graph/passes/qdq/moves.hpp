// Nodes that only move numbers, which then move bytes.
#pragma once

#include "tenon/graph/passes/qdq/bytes.hpp"

namespace tenon::TENON_ABI::passes::qdq_detail {

/// Whether a node only moves the numbers of its first input, or of all members of a variadic one, to its one
/// result, and also accepts bytes.
inline bool is_move(const Graph::Node& n, DType bytes) {
  const op::Elements e = n.op.elements();
  return (e == op::Elements::order || e == op::Elements::choice) && n.outputs.size() == 1 && takes(n, bytes);
}

/// Whether a node only reorders or reshapes the numbers of its first input, and also accepts bytes.
inline bool is_order(const Graph::Node& n, DType bytes) {
  return n.op.elements() == op::Elements::order && n.outputs.size() == 1 && takes(n, bytes);
}
/// Moves a DequantizeLinear after a node that then reorders bytes instead of floats.
inline void restore_later(Program& program, int number) {
  const ValueId v = program.node(number).outputs[0];
  const auto x = dequantized_bytes(program, v);
  const int next = program.only_reader(v);
  if (!x || program.stored(x->v) || next < 0 || !fits(program, next) ||
      !is_order(program.node(next), x->as.type) || program.node(next).inputs[0] != v)
    return;
  const Graph::Node& n = program.node(next);
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = x->v;
  program.applied(next, "orders bytes");
  const ValueId moved = program.add_node(next, AnyOperator(n.op), std::move(inputs))[0];
  program.replace(next, AnyOperator::make(op::DequantizeLinear{}),
                  {moved, one_number(program, x->as.scale), zero_point(program, x->as)}, number);
}

/// Moves a QuantizeLinear before nodes that then reorder bytes instead of floats.
inline void quantize_earlier(Program& program, int number) {
  while (number >= 0) {
    const auto as = quantized_as(program, program.node(number));
    if (!as || !fits(program, number)) return;
    const ValueId v = program.node(number).inputs[0];
    const int m = program.maker(v);
    if (m < 0 || program.only_reader(v) < 0 || !fits(program, m) || !is_order(program.node(m), as->type))
      return;
    const Graph::Node& n = program.node(m);
    std::vector<ValueId> inputs = n.inputs;
    if (program.info(inputs[0]).type != Type(DType::float32)) return;
    program.applied(m, "orders bytes");
    const AnyOperator order(n.op);
    const ValueId scale = one_number(program, as->scale), zero = zero_point(program, *as);
    inputs[0] =
        program.add_node(number, AnyOperator::make(op::QuantizeLinear{}), {inputs[0], scale, zero})[0];
    const int earlier = program.maker(inputs[0]);
    program.replace(number, order, std::move(inputs), m);
    number = earlier;
  }
}

/// A QuantizeLinear after a node that moves 8-bit numbers of the same scale.
inline void fuse_move(Program& program, int number, int mover, const ByteScale& as) {
  const Graph::Node& n = program.node(mover);
  std::vector<ValueId> inputs = n.inputs;
  const bool all = n.op.spec().input(0).arity == op::Arity::variadic;
  const std::size_t moved = all ? inputs.size() : 1;
  for (std::size_t k = 0; k < moved; ++k) {
    const auto x = dequantized_bytes(program, inputs[k]);
    if (!x || !(x->as == as)) {
      if (x) program.skipped(mover, "the scale before it is not the one after it");
      return;
    }
    inputs[k] = x->v;
  }
  program.applied(mover, "in integers");
  program.replace(number, AnyOperator(n.op), std::move(inputs), mover);
}

}  // namespace tenon::TENON_ABI::passes::qdq_detail
