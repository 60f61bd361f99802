// Equal: C = A == B.   onnx.ai/onnx/operators/onnx__Equal.html
#pragma once

#include "tenon/op/families/before_broadcasting.hpp"
#include "tenon/op/families/compare.hpp"

namespace tenon::op {

/// C = A == B with numpy's broadcasting; NaN equals nothing. op::Equal{}(2, 2) gives true.
struct Equal {
  static constexpr Spec spec{.name = "Equal",
                             .since = {7, 11, 13, 19},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T1"}},
                             .types = {{"T",
                                        {{1, types::indices | types::boolean},
                                         {11, types::numeric | types::boolean},
                                         {13, types::numeric_bf16 | types::boolean},
                                         {19, types::numeric_bf16 | types::boolean | types::string}}},
                                       comparison_result},
                             .memory = Memory::elementwise};

  constexpr void infer(Infer& i) const { infer_compare<kernels::CompareOp::equal>(i); }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<bool> c) const {
    compare<kernels::CompareOp::equal>(a, b, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

using Equal_1 = BeforeBroadcasting<Equal, 1>;

}  // namespace tenon::op
