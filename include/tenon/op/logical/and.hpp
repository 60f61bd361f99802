// And: C = A && B.   onnx.ai/onnx/operators/onnx__And.html
#pragma once

#include "tenon/op/families/before_broadcasting.hpp"
#include "tenon/op/families/compare.hpp"

namespace tenon::op {

/// C = A && B with numpy's broadcasting. op::And{}(true, false) gives false.
struct And {
  static constexpr Spec spec{.name = "And",
                             .since = {7},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T1"}},
                             .types = {{"T", types::boolean}, comparison_result},
                             .memory = Memory::elementwise};

  constexpr void infer(Infer& i) const {
    infer_broadcast(i, [](Dim a, Dim b) { return a * b; });
  }
  void compute(TensorView<const bool> a, TensorView<const bool> b, TensorView<bool> c) const {
    logic<kernels::LogicOp::logical_and>(a, b, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

using And_1 = BeforeBroadcasting<And, 1>;

}  // namespace tenon::op
