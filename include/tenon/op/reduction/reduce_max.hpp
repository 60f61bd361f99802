// ReduceMax: greatest elements along axes.   onnx.ai/onnx/operators/onnx__ReduceMax.html
#pragma once

#include "tenon/op/families/reduction.hpp"

namespace tenon::op {

/// The greatest element over `axes`, by default all, with noop_with_empty_axes none. NaN where an element is;
/// of nothing, the least value of the type (floats: -infinity). op::ReduceMax{}(x, constant<int64_t, 1>) of
/// (2,3) gives (2,1).
struct ReduceMax {
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;

  static constexpr Spec spec{.name = "ReduceMax",
                             .since = {1, 11, 12, 13, 18, 20},
                             .inputs = {{"data", "T"}, axes_since(18)},
                             .outputs = {{"reduced", "T"}},
                             .types = {extremum_types}};
  static constexpr Attributes attributes{
      attr("keepdims", &ReduceMax::keepdims),
      attr("noop_with_empty_axes", &ReduceMax::noop_with_empty_axes).since(18), axes_until(17)};

  constexpr void infer(Infer& i) const {
    infer_reduction_of_input(i, keepdims != 0, noop_with_empty_axes != 0);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const int64_t> axes, TensorView<T> y) const {
    reduce<kernels::ReduceOp::max>(x, axes.span(), noop_with_empty_axes != 0, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
