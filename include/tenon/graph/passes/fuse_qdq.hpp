// fuse_qdq: nodes between DequantizeLinear and QuantizeLinear, and QLinearConv, become nodes over 8-bit
// integers.
//
// Covers convolutions and products with constant weights, products of two results (also elementwise), sums,
// global averages, functions of one tensor of bytes, and nodes that only move numbers. If the
// result of a product with constant weights is not quantised, the product dequantises its sums. Results are
// as ONNX's QLinear operators define them: sums are exact integers, multiplied once by the quotient of the
// scales. They differ from the replaced floats by at most one quantisation step, where a float lies close to
// the middle between two steps. Functions and moves do not differ at all.
#pragma once

#include "tenon/graph/passes/qdq/functions.hpp"
#include "tenon/graph/passes/qdq/moves.hpp"
#include "tenon/graph/passes/qdq/products.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/gemm.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/nn/global_average_pool.hpp"

namespace tenon::TENON_ABI::passes {

namespace qdq_detail {

inline void fuse_add(Program& program, int number) {
  const Graph::Node& n = program.node(number);
  const auto a = dequantized_bytes(program, n.inputs[0]), b = dequantized_bytes(program, n.inputs[1]);
  if (!a || !b) {
    if (is_restored(program, n.inputs[0]) || is_restored(program, n.inputs[1]))
      program.skipped(number, "not both operands are of 8 bits with one scale");
    return;
  }
  if (!program.info(a->v).dims.same(program.info(b->v).dims))
    return program.skipped(number, "the operands' extents differ, or are not known");
  const auto end = end_of(program, n.outputs[0]);
  if (!end) return program.skipped(number, "the result is not quantised to 8 bits");
  program.applied(number, "in integers", end->with);
  program.replace(end->node, AnyOperator::make(QuantizedAdd{a->as, b->as, end->y}), {a->v, b->v}, number);
}

inline void fuse_mul(Program& program, int number) {
  const Graph::Node& n = program.node(number);
  auto a = dequantized_bytes(program, n.inputs[0]), b = dequantized_bytes(program, n.inputs[1]);
  if (!a || !b) return;
  const auto end = end_of(program, n.outputs[0]);
  if (!end) return program.skipped(number, "the result is not quantised to 8 bits");
  const auto spreads = [&](const Bytes& small, const Bytes& large) {
    Dims channels = program.info(large.v).dims;
    if (!channels.ranked() || channels.rank() < 3) return false;
    for (int k = 2; k < channels.rank(); ++k) channels[k] = 1;
    return channels.same(program.info(small.v).dims);
  };
  QuantizedMul q{.a = a->as, .b = b->as, .y = end->y};
  if (!program.info(a->v).dims.same(program.info(b->v).dims)) {
    if (spreads(*a, *b)) std::swap(a, b), std::swap(q.a, q.b);
    else if (!spreads(*b, *a))
      return program.skipped(number, "neither operand has the other's extents, or a number for each channel");
    q.spread = true;
  }
  program.applied(number, "in integers", end->with);
  program.replace(end->node, AnyOperator::make(q), {a->v, b->v}, number);
}

inline void fuse_average(Program& program, int number, int pool, const ByteScale& as) {
  const auto x = dequantized_bytes(program, program.node(pool).inputs[0]);
  if (!x) return;
  program.applied(pool, "in integers");
  program.replace(number, AnyOperator::make(QuantizedGlobalAverage{x->as, ByteRange::of(as)}), {x->v}, pool);
}

}  // namespace qdq_detail

inline void apply_fuse_qdq(Program& program) {
  using namespace qdq_detail;
  program.for_each<op::DequantizeLinear>(
      [&](int n, const op::DequantizeLinear&) { restore_later(program, n); });
  program.for_each<op::QuantizeLinear>(
      [&](int n, const op::QuantizeLinear&) { quantize_earlier(program, n); });
  program.for_each<op::Conv>([&](int n, const op::Conv& conv) { fuse_conv(program, n, conv); });
  program.for_each<op::QLinearConv>(
      [&](int n, const op::QLinearConv& conv) { fuse_linear_conv(program, n, conv); });
  program.for_each<op::MatMul>([&](int n, const op::MatMul&) { fuse_product(program, n, false, false, -1); });
  program.for_each<op::Gemm>([&](int n, const op::Gemm& g) {
    if (g.alpha != 1 || g.beta != 1 || g.transA != 0) {
      if (is_restored(program, program.node(n).inputs[0]))
        program.skipped(n, "it has factors or a transposed A");
      return;
    }
    fuse_product(program, n, true, g.transB != 0, input(program.node(n), 2));
  });
  program.for_each<op::Add>([&](int n, const op::Add&) { fuse_add(program, n); });
  program.for_each<op::QuantizeLinear>([&](int n, const op::QuantizeLinear&) {
    const ValueId v = program.node(n).inputs[0];
    const auto as = quantized_as(program, program.node(n));
    if (!as || !fits(program, n)) return;
    const int m = program.maker(v);
    if (m >= 0 && program.only_reader(v) >= 0 && fits(program, m)) {
      if (is_move(program.node(m), as->type)) return fuse_move(program, n, m, *as);
      if (program.node(m).op.as<op::GlobalAveragePool>()) return fuse_average(program, n, m, *as);
    }
    fuse_functions(program, n, *as);
  });
  // Products that are not functions of one tensor.
  program.for_each<op::Mul>([&](int n, const op::Mul&) { fuse_mul(program, n); });
}

/// Dequantised constants are not folded: they are the weights.
inline constexpr Pass fuse_qdq{"fuse_qdq", apply_fuse_qdq, [](const Program&, const Graph::Node& n) {
                                 return n.op.as<op::DequantizeLinear>() != nullptr;
                               }};

}  // namespace tenon::TENON_ABI::passes
