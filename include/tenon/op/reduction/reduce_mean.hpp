// ReduceMean: means along axes.   onnx.ai/onnx/operators/onnx__ReduceMean.html
#pragma once

#include "tenon/op/families/reduction.hpp"

namespace tenon::op {

/// Means over `axes`, by default all, with noop_with_empty_axes none. Means of integers are truncated; the
/// mean of nothing is NaN, for integers 0. op::ReduceMean{.keepdims = 0}(x, constant<int64_t, 1>) of (2,3)
/// gives (2).
struct ReduceMean {
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;

  static constexpr Spec spec{.name = "ReduceMean",
                             .since = {1, 11, 13, 18},
                             .inputs = {{"data", "T"}, axes_since(18)},
                             .outputs = {{"reduced", "T"}},
                             .types = {{"T", {{1, types::wide_numeric}, {13, types::wide_numeric_bf16}}}}};
  static constexpr Attributes attributes{
      attr("keepdims", &ReduceMean::keepdims),
      attr("noop_with_empty_axes", &ReduceMean::noop_with_empty_axes).since(18), axes_until(17)};

  constexpr void infer(Infer& i) const {
    infer_reduction_of_input(i, keepdims != 0, noop_with_empty_axes != 0);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const int64_t> axes, TensorView<T> y) const {
    reduce<kernels::ReduceOp::mean>(x, axes.span(), noop_with_empty_axes != 0, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
