// ArgMax: where along an axis the greatest elements are.   onnx.ai/onnx/operators/onnx__ArgMax.html
#pragma once

#include "tenon/op/families/reduction.hpp"

namespace tenon::op {

/// The index along `axis` of the greatest element: the first of equals, or the last with select_last_index.
/// NaN counts as greater than all else. op::ArgMax{.axis = 0}(x) of (1,3,2) gives (1).
struct ArgMax {
  int64_t axis = 0;
  int64_t keepdims = 1;
  int64_t select_last_index = 0;

  static constexpr Spec spec{.name = "ArgMax",
                             .since = {1, 11, 12, 13},
                             .inputs = {{"data", "T"}},
                             .outputs = {{"reduced", "tensor(int64)"}},
                             .types = {{"T", {{1, types::numeric}, {13, types::numeric_bf16}}}}};
  static constexpr Attributes attributes{attr("axis", &ArgMax::axis), attr("keepdims", &ArgMax::keepdims),
                                         attr("select_last_index", &ArgMax::select_last_index).since(12)};

  constexpr void infer(Infer& i) const { infer_arg_reduction(i, axis, keepdims != 0); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<int64_t> y) const {
    arg_reduce(true, x, axis, select_last_index != 0, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
