// pack_quantized: QLinearMatMul and MatMulInteger with constant weights, and the convolutions that fuse_qdq
// made, become nodes whose weights are laid out for the kernels. MatMulInteger takes along the Cast, the
// factors, the bias of columns, the residual and the Relu or Clip behind it, which make floats of its sums. A
// value is quantised once for all products that read it.
#pragma once

#include "tenon/graph/fused/packed_mat_mul_integer.hpp"
#include "tenon/graph/passes/quantized.hpp"
#include "tenon/op/math/mat_mul_integer.hpp"
#include "tenon/op/math/q_linear_mat_mul.hpp"
#include "tenon/op/quantization/dynamic_quantize_linear.hpp"
#include "tenon/op/tensor/cast.hpp"

namespace tenon::passes {

namespace quantized_detail {

/// The numbers of a constant that gives each column of v one, or all of them the same; else null.
inline const float* of_columns(const Program& program, ValueId z, ValueId v, int64_t n, int64_t& step) {
  const AnyTensor* t = constant_floats(program, z);
  if (t == nullptr || t->dtype() != DType::float32 || t->rank() > program.info(v).dims.rank()) return nullptr;
  if (t->size() != 1 && (t->size() != n || t->extents().back() != n)) return nullptr;
  step = t->size() == 1 ? 0 : 1;
  return t->view().as<float>().data();
}

/// Takes the nodes that make floats of a product's sums into it, as long as nobody else reads values between.
/// `operands` are the packed node's; returns the last node taken.
inline int take_floats(const Program& program, int number, PackedMatMulInteger& q,
                       std::vector<ValueId>& operands, std::string& with) {
  ValueId v = program.node(number).outputs[0];
  int last = program.only_reader(v);
  if (last < 0 || !fits(program, last) || !program.node(last).op.as<op::Cast>()) return number;
  const auto take = [&](int node) {
    with += concat(with.empty() ? ", fused with " : ", ", program.label(node));
    last = node;
    v = program.node(node).outputs[0];
  };
  if (program.info(program.node(last).outputs[0]).type != Type(DType::float32)) return number;
  take(last);
  q.scales = Storage::make<float>(q.n);
  auto* const scales = static_cast<float*>(q.scales.data());
  std::fill_n(scales, q.n, 1.0f);
  operands.resize(4, -1);
  const auto scale_by = [&](ValueId z) {
    int64_t step = 0;
    const float* by = of_columns(program, z, v, q.n, step);
    for (int64_t j = 0; by != nullptr && j < q.n; ++j) scales[j] *= by[j * step];
    return by != nullptr;
  };
  // A number that the run computes.
  const auto is_scale = [&](ValueId z) {
    const op::Info& i = program.info(z);
    return operands[2] < 0 && i.type == Type(DType::float32) && i.dims.count().is(1) &&
           i.dims.rank() <= program.info(v).dims.rank();
  };
  const auto multiply = [&](ValueId z) {
    if (q.bias || operands[3] >= 0) return false;
    if (scale_by(z)) return true;
    const Graph::Node* product = made_by<op::Mul>(program, z);
    for (std::size_t k = 0; product != nullptr && k < 2; ++k)
      if (is_scale(product->inputs[k]) && scale_by(product->inputs[1 - k])) {
        operands[2] = product->inputs[k];
        return true;
      }
    if (!is_scale(z)) return false;
    operands[2] = z;
    return true;
  };
  const auto add = [&](ValueId z) {
    int64_t step = 0;
    if (const float* by = q.bias ? nullptr : of_columns(program, z, v, q.n, step)) {
      q.bias = Storage::make<float>(q.n);
      for (int64_t j = 0; j < q.n; ++j) static_cast<float*>(q.bias.data())[j] = by[j * step];
      return true;
    }
    if (operands[3] >= 0 || program.info(z).type != Type(DType::float32) ||
        !program.info(v).dims.same(program.info(z).dims))
      return false;
    operands[3] = z;
    return true;
  };
  for (;;) {
    const int next = program.only_reader(v);
    if (next < 0 || !fits(program, next)) return last;
    const Graph::Node& node = program.node(next);
    if (const auto bounds = bounds_of(program, node, v)) {
      q.bounds = *bounds;
      take(next);
      return last;
    }
    const bool product = node.op.as<op::Mul>() != nullptr;
    if (!product && !is_sum(node)) return last;
    const ValueId z = node.inputs[node.inputs[0] == v ? 1 : 0];
    if (!(product ? multiply(z) : add(z))) return last;
    take(next);
  }
}

/// Makes the readers of a node's results read an earlier node's, which quantises the same value.
inline void quantize_once(Program& program, int number) {
  const Graph::Node& n = program.node(number);
  // The program's outputs keep values of their own.
  if (std::ranges::any_of(n.outputs, [&](ValueId v) { return v >= 0 && program.is_output(v); })) return;
  for (const int other : program.readers(n.inputs[0])) {
    const Graph::Node& first = program.node(other);
    if (other >= number || !first.op.as<op::DynamicQuantizeLinear>()) continue;
    if (first.outputs.size() < n.outputs.size()) continue;
    program.applied(number, "its results are those of ", program.label(other));
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
    q.b = packed_matrix(*b, zero, false);
    std::vector<ValueId> operands{n.inputs[0], input(n, 2)};
    std::string with;
    const int last = take_floats(program, number, q, operands, with);
    program.applied(number, "packed", with);
    program.replace(last, AnyOperator::make(q), std::move(operands));
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
    q.b = packed_matrix(*w->data, w->zero, false);
    program.applied(number, "packed");
    program.replace(number, AnyOperator::make(q), {n.inputs[0]});
  });
  program.for_each<QuantizedConv>([&](int number, const QuantizedConv& conv) {
    if (!conv.plain) return;
    QuantizedConv q = conv;
    kernels::QuantConvArgs args;
    args.w = q.plain.data(), args.w_signed = true;
    q.weights = packed_filter(q, args);
    q.plain = {};
    program.applied(number, "packed");
    program.replace(number, AnyOperator::make(q), program.node(number).inputs);
  });
}

inline constexpr Pass pack_quantized{"pack_quantized", apply_pack_quantized};

}  // namespace tenon::passes
