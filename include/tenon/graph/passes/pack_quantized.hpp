// pack_quantized: QLinearMatMul and MatMulInteger with constant weights, and the convolutions that fuse_qdq
// made, become nodes whose weights are laid out for the kernels. The Cast, factors, bias per column, residual
// and Relu or Clip that dequantise the sums of a MatMulInteger fuse into it. A value is quantised once for
// all products that read it.
#pragma once

#include "tenon/graph/passes/floats_of_sums.hpp"
#include "tenon/graph/passes/quantized.hpp"
#include "tenon/op/math/mat_mul_integer.hpp"
#include "tenon/op/math/q_linear_mat_mul.hpp"
#include "tenon/op/quantization/dynamic_quantize_linear.hpp"

namespace tenon::TENON_ABI::passes {

namespace quantized_detail {

/// Redirects the readers of a node's results to an earlier node that quantises the same value.
inline void quantize_once(Program& program, int number) {
  const Graph::Node& n = program.node(number);
  // The program's outputs keep values of their own.
  if (std::ranges::any_of(n.outputs, [&](ValueId v) { return v >= 0 && program.is_output(v); })) return;
  for (const int other : program.readers(n.inputs[0])) {
    const Graph::Node& first = program.node(other);
    if (other >= number || !first.op.as<op::DynamicQuantizeLinear>()) continue;
    if (first.outputs.size() < n.outputs.size()) continue;
    program.applied(number, "it computes the same as ", program.label(other));
    const std::vector<ValueId> from = n.outputs, to = first.outputs;
    for (std::size_t k = 0; k < from.size(); ++k)
      if (from[k] >= 0 && to[k] >= 0) program.redirect(from[k], to[k]);
    return;
  }
}

}  // namespace quantized_detail

inline void apply_pack_quantized(Program& program) {
  using namespace quantized_detail;
  program.for_each<op::DynamicQuantizeLinear>(
      [&](int number, const op::DynamicQuantizeLinear&) { quantize_once(program, number); });
  program.for_each<op::MatMulInteger>([&](int number, const op::MatMulInteger&) {
    const Graph::Node& n = program.node(number);
    const AnyTensor *b = constant_tensor(program, n.inputs[1]), *zero = constant_tensor(program, input(n, 3));
    if (b == nullptr || (input(n, 3) >= 0 && zero == nullptr))
      return program.skipped(number, "B or its zero point is not constant");
    if (b->rank() != 2 || b->size() == 0) return program.skipped(number, "B is no matrix");
    const Dims& y = program.info(n.outputs[0]).dims;
    if (!fits(program, number) || !y.ranked() || y.rank() < 2)
      return program.skipped(number, "A is a vector, or of unknown rank");
    PackedMatMulInteger q{
        .element = program.info(n.inputs[0]).type.element, .k = b->extents()[0], .n = b->extents()[1]};
    q.b = packed_matrix(program, *b, zero, false);
    std::vector<ValueId> operands{n.inputs[0], input(n, 2)};
    FloatsOfSums floats(program, number, q, operands);
    floats.take_cast();
    program.applied(number, "packed", floats.report());
    program.replace(floats.last(), AnyOperator::make(q), std::move(operands), number);
  });
  program.for_each<op::QLinearMatMul>([&](int number, const op::QLinearMatMul&) {
    const Graph::Node& n = program.node(number);
    const auto a = scale_of(program, n.inputs[1], n.inputs[2], program.info(n.inputs[0]).type.element);
    const auto y = scale_of(program, n.inputs[6], n.inputs[7], program.info(n.outputs[0]).type.element);
    const auto w = weights_of(program, n.inputs[3], n.inputs[4], n.inputs[5], 1);
    const Dims& dims = program.info(n.outputs[0]).dims;
    if (!a || !y || !w || w->data->rank() != 2)
      return program.skipped(number, "not of 8 bits with constant scales and a constant matrix B");
    if (!fits(program, number) || !dims.ranked() || dims.rank() < 2)
      return program.skipped(number, "A is a vector, or of unknown rank");
    QuantizedMatMul q{
        .a = *a, .y = ByteRange::of(*y), .k = w->data->extents()[0], .n = w->data->extents()[1]};
    q.scales = scales_of(*w, *a, *y, q.n);
    q.b = packed_matrix(program, *w->data, w->zero, false);
    program.applied(number, "packed");
    program.replace(number, AnyOperator::make(q), {n.inputs[0]});
  });
  program.for_each<QuantizedConv>([&](int number, const QuantizedConv& conv) {
    if (!conv.plain) return;
    QuantizedConv q = conv;
    kernels::QuantConvArgs args;
    args.w = q.plain.data(), args.w_signed = true;
    q.weights = packed_filter(program, q, args);
    q.plain = {};
    program.applied(number, "packed");
    program.replace(number, AnyOperator::make(q), program.node(number).inputs);
  });
}

inline constexpr Pass pack_quantized{"pack_quantized", apply_pack_quantized};

}  // namespace tenon::TENON_ABI::passes
