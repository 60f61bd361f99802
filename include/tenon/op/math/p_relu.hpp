// PRelu: Y = X, below 0 scaled by a slope.   onnx.ai/onnx/operators/onnx__PRelu.html
#pragma once

#include "tenon/op/families/elementwise.hpp"
#include "tenon/op/tensor/unsqueeze.hpp"

namespace tenon::TENON_ABI::op {

namespace p_relu_detail {

/// Whether numpy's broadcasting stretches a slope over X, as far as it is known.
constexpr bool stretches(const Dims& slope, const Dims& x) {
  const int more = x.rank() - slope.rank();
  if (more < 0) return false;
  for (int k = 0; k < slope.rank(); ++k)
    if (!slope[k].is(1) && slope[k].differs(x[more + k])) return false;
  return true;
}

}  // namespace p_relu_detail

/// Y = X < 0 ? slope X : X; numpy's broadcasting stretches the slope over X. op::PRelu{}(-3.0f, 0.5f) gives
/// -1.5.
struct PRelu {
  static constexpr Spec spec{
      .name = "PRelu",
      .since = {7, 9, 16},
      .inputs = {{"X", "T"}, {"slope", "T"}},
      .outputs = {{"Y", "T"}},
      .types = {{"T", {{1, types::floats}, {9, types::wide_numeric}, {16, types::wide_numeric_bf16}}}},
      .elements = Elements::arithmetic};

  constexpr void infer(Infer& i) const {
    const Dims &x = i.dims(0), &slope = i.dims(1);
    i.out(0, x);
    if (i.ranked(0, 1) && !p_relu_detail::stretches(slope, x))
      i.fail("slope ", slope, " does not broadcast to X ", x);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> slope, TensorView<T> y) const {
    binary<kernels::BinaryOp::prelu>(spec.name, x, slope, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// A vector of slopes has one for each channel, that is, index of X's axis 1; other slopes are stretched over
/// X.
struct PRelu_1 {
  static constexpr Spec spec{.name = "PRelu",
                             .since = {1, 6},
                             .inputs = {{"X", "T"}, {"slope", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{consumed_inputs};

  constexpr void infer(Infer& i) const {
    const Dims &x = i.dims(0), &slope = i.dims(1);
    i.out(0, x);
    if (!i.ranked(0, 1) || p_relu_detail::stretches(slope, x)) return;
    if (slope.rank() != 1 || x.rank() < 2 || slope[0].differs(x[1]))
      i.fail("slope ", slope, " is not one for each channel of X ", x, ", and does not broadcast to it");
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> slope, TensorView<T> y) const {
    Extents extents(slope.extents());
    if (slope.rank() == 1 && x.rank() > 2 && slope.extent(0) == x.extent(1))
      for (int k = 2; k < x.rank(); ++k) extents.push_back(1);
    PRelu{}.compute(x, TensorView<const T>(slope.data(), extents), y);
  }
  /// Today's broadcasting aligns slopes by their last axis: trailing extents of 1 move them to axis 1.
  template <class L>
  int32_t renew(L& to) const {
    const Dims &x = to.dims(0), &slope = to.dims(1);
    if (!x.ranked() || !slope.ranked()) return -1;
    int64_t trailing = slope.rank() == 1 ? x.rank() - 2 : 0;
    if (trailing > 0 && !slope[0].is(1) && !slope[0].same(x[1])) {
      if (!slope[0].differs(x[1])) return -1;  // the number of slopes is known only at run time
      trailing = 0;
    }
    if (trailing <= 0 || slope[0].is(1)) return to.add(PRelu{}, {to.input(0), to.input(1)});
    Tensor<int64_t> axes(Extents{trailing});
    for (int64_t k = 0; k < trailing; ++k) axes[k] = 1 + k;
    return to.add(PRelu{}, {to.input(0), to.add(Unsqueeze{}, {to.input(1), to.constant(axes)})});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::PRelu, tenon::op::PRelu_1)
