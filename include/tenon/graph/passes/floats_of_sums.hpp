// FloatsOfSums: the nodes after a product of integers that dequantise its sums.
#pragma once

#include <string>
#include <vector>

#include "tenon/graph/fused/packed_mat_mul_integer.hpp"
#include "tenon/graph/passes/quantized.hpp"
#include "tenon/op/tensor/cast.hpp"

namespace tenon::TENON_ABI::passes {

namespace quantized_detail {

/// The numbers of a constant with one per column of v, or one for all columns; else null.
inline const float* of_columns(const Program& program, ValueId z, ValueId v, int64_t n, int64_t& step) {
  const AnyTensor* t = constant_floats(program, z);
  if (t == nullptr || t->dtype() != DType::float32 || t->rank() > program.info(v).dims.rank()) return nullptr;
  if (t->size() != 1 && (t->size() != n || t->extents().back() != n)) return nullptr;
  step = t->size() == 1 ? 0 : 1;
  return t->view().as<float>().data();
}

/// The nodes that dequantise a product's sums. They fuse into the product as long as the values between have
/// no other readers. `operands` are the packed node's.
class FloatsOfSums {
 public:
  FloatsOfSums(const Program& program, int product, PackedMatMulInteger& q, std::vector<ValueId>& operands)
      : program_(program), q_(q), operands_(operands), last_(product), v_(program.node(product).outputs[0]) {}

  /// Takes a Cast to float, and the nodes after it.
  void take_cast() {
    const int cast = program_.only_reader(v_);
    if (cast < 0 || !fits(program_, cast) || !program_.node(cast).op.as<op::Cast>()) return;
    if (program_.info(program_.node(cast).outputs[0]).type != Type(DType::float32)) return;
    take(cast);
    q_.scales = Storage::make<float>(q_.n);
    std::fill_n(q_.scales.as<float>(), q_.n, 1.0f);
    operands_.resize(4, -1);
    take_arithmetic();
  }
  /// Takes nodes while they fit. Sums are floats, with scales.
  void take_arithmetic() {
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
  /// Adds z, a constant bias per column or a residual of the product's extents.
  bool add(ValueId z) {
    int64_t step = 0;
    if (const float* by = q_.bias ? nullptr : of_columns(program_, z, v_, q_.n, step)) {
      q_.bias = Storage::make<float>(q_.n);
      for (int64_t j = 0; j < q_.n; ++j) q_.bias.as<float>()[j] = by[j * step];
      return true;
    }
    if (operands_[3] >= 0 || program_.info(z).type != Type(DType::float32) ||
        !program_.info(v_).dims.same(program_.info(z).dims))
      return false;
    operands_[3] = z;
    return true;
  }
  int last() const { return last_; }  ///< the last node taken, or the product itself
  /// The nodes taken, for a report.
  const std::string& report() const { return report_; }

 private:
  void take(int node) {
    report_ += str_cat(report_.empty() ? ", fused with " : ", ", program_.label(node));
    last_ = node;
    v_ = program_.node(node).outputs[0];
  }
  /// Multiplies by z: a constant, a number computed in the run, or a product of both.
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
    auto* const scales = q_.scales.as<float>();
    for (int64_t j = 0; by != nullptr && j < q_.n; ++j) scales[j] *= by[j * step];
    return by != nullptr;
  }
  /// Whether z can be the one factor that is computed in the run.
  bool is_scale(ValueId z) const {
    const op::Info& i = program_.info(z);
    return operands_[2] < 0 && i.type == Type(DType::float32) && i.dims.count().is(1) &&
           i.dims.rank() <= program_.info(v_).dims.rank();
  }
  const Program& program_;
  PackedMatMulInteger& q_;
  std::vector<ValueId>& operands_;
  int last_;
  ValueId v_;  // the result of the last node
  std::string report_;
};

}  // namespace quantized_detail

}  // namespace tenon::TENON_ABI::passes
