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

/// The nodes that make floats of a product's sums, and which the product takes in as long as nobody else
/// reads values between. `operands` are the packed node's.
class FloatsOfSums {
 public:
  FloatsOfSums(const Program& program, int product, PackedMatMulInteger& q, std::vector<ValueId>& operands)
      : program_(program), q_(q), operands_(operands), last_(product), v_(program.node(product).outputs[0]) {}

  /// Takes nodes while they fit.
  void take_all() {
    const int cast = program_.only_reader(v_);
    if (cast < 0 || !fits(program_, cast) || !program_.node(cast).op.as<op::Cast>()) return;
    if (program_.info(program_.node(cast).outputs[0]).type != Type(DType::float32)) return;
    take(cast);
    q_.scales = Storage::make<float>(q_.n);
    std::fill_n(static_cast<float*>(q_.scales.data()), q_.n, 1.0f);
    operands_.resize(4, -1);
    for (;;) {
      const int next = program_.only_reader(v_);
      if (next < 0 || !fits(program_, next)) return;
      const Graph::Node& node = program_.node(next);
      if (const auto bounds = bounds_of(program_, node, v_)) {
        q_.bounds = *bounds;
        return take(next);
      }
      const bool product = node.op.as<op::Mul>() != nullptr;
      if (!product && !is_sum(node)) return;
      const ValueId z = node.inputs[node.inputs[0] == v_ ? 1 : 0];
      if (!(product ? multiply(z) : add(z))) return;
      take(next);
    }
  }
  int last() const { return last_; }  ///< the last node taken, or the product itself
  /// The nodes taken, for a report.
  const std::string& report() const { return report_; }

 private:
  void take(int node) {
    report_ += concat(report_.empty() ? ", fused with " : ", ", program_.label(node));
    last_ = node;
    v_ = program_.node(node).outputs[0];
  }
  /// Multiplies by z, a constant, a number that the run computes, or a product of both.
  bool multiply(ValueId z) {
    if (q_.bias || operands_[3] >= 0) return false;
    if (scale_by(z)) return true;
    const Graph::Node* product = made_by<op::Mul>(program_, z);
    for (std::size_t k = 0; product != nullptr && k < 2; ++k)
      if (is_scale(product->inputs[k]) && scale_by(product->inputs[1 - k])) {
        operands_[2] = product->inputs[k];
        return true;
      }
    if (!is_scale(z)) return false;
    operands_[2] = z;
    return true;
  }
  bool scale_by(ValueId z) {
    int64_t step = 0;
    const float* by = of_columns(program_, z, v_, q_.n, step);
    auto* const scales = static_cast<float*>(q_.scales.data());
    for (int64_t j = 0; by != nullptr && j < q_.n; ++j) scales[j] *= by[j * step];
    return by != nullptr;
  }
  /// Whether z can be the one factor that the run computes.
  bool is_scale(ValueId z) const {
    const op::Info& i = program_.info(z);
    return operands_[2] < 0 && i.type == Type(DType::float32) && i.dims.count().is(1) &&
           i.dims.rank() <= program_.info(v_).dims.rank();
  }
  /// Adds z, a constant bias of columns or a residual of the product's extents.
  bool add(ValueId z) {
    int64_t step = 0;
    if (const float* by = q_.bias ? nullptr : of_columns(program_, z, v_, q_.n, step)) {
      q_.bias = Storage::make<float>(q_.n);
      for (int64_t j = 0; j < q_.n; ++j) static_cast<float*>(q_.bias.data())[j] = by[j * step];
      return true;
    }
    if (operands_[3] >= 0 || program_.info(z).type != Type(DType::float32) ||
        !program_.info(v_).dims.same(program_.info(z).dims))
      return false;
    operands_[3] = z;
    return true;
  }

  const Program& program_;
  PackedMatMulInteger& q_;
  std::vector<ValueId>& operands_;
  int last_;
  ValueId v_;  // the result of the last node
  std::string report_;
};

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
    FloatsOfSums floats(program, number, q, operands);
    floats.take_all();
    program.applied(number, "packed", floats.report());
    program.replace(floats.last(), AnyOperator::make(q), std::move(operands));
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
