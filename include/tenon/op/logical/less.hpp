// Less: C = A < B.   onnx.ai/onnx/operators/onnx__Less.html
#pragma once

#include "tenon/op/families/before_broadcasting.hpp"
#include "tenon/op/families/compare.hpp"

namespace tenon::op {

/// C = A < B with numpy's broadcasting; NaN is neither less nor greater. op::Less{}(2, 1) gives false.
struct Less {
  static constexpr Spec spec{.name = "Less",
                             .since = {7, 9, 13},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T1"}},
                             .types = {ordered_types, comparison_result},
                             .memory = Memory::elementwise};

  constexpr void infer(Infer& i) const { infer_compare<kernels::CompareOp::less>(i); }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<bool> c) const {
    compare<kernels::CompareOp::less>(a, b, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

using Less_1 = BeforeBroadcasting<Less, 1>;

}  // namespace tenon::op
