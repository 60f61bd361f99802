// ReduceSum: sums along axes.   onnx.ai/onnx/operators/onnx__ReduceSum.html
#pragma once

#include "tenon/op/families/reduction.hpp"

namespace tenon::op {

/// Sums over `axes`, by default all, with noop_with_empty_axes none. Integers wrap.
/// op::ReduceSum{}(x, constant<int64_t, 1>) of (2,3) gives (2,1).
struct ReduceSum {
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;

  static constexpr Spec spec{.name = "ReduceSum",
                             .since = {1, 11, 13},
                             .inputs = {{"data", "T"}, axes_since(13)},
                             .outputs = {{"reduced", "T"}},
                             .types = {{"T", {{1, types::wide_numeric}, {13, types::wide_numeric_bf16}}}}};
  static constexpr Attributes attributes{
      attr("keepdims", &ReduceSum::keepdims),
      attr("noop_with_empty_axes", &ReduceSum::noop_with_empty_axes).since(13), axes_until(12)};

  constexpr void infer(Infer& i) const {
    infer_reduction_of_input(i, keepdims != 0, noop_with_empty_axes != 0, [](Dim a, Dim b) { return a + b; });
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const int64_t> axes, TensorView<T> y) const {
    reduce<kernels::ReduceOp::sum>(x, axes.span(), noop_with_empty_axes != 0, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
