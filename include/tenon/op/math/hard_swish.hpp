// HardSwish: Y = X max(0, min(1, X / 6 + 1 / 2)).   onnx.ai/onnx/operators/onnx__HardSwish.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::op {

/// Y = X max(0, min(1, X / 6 + 1 / 2)). op::HardSwish{}(3.0f) gives 3.
struct HardSwish {
  static constexpr Spec spec{.name = "HardSwish",
                             .since = {14, 22},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", {{14, types::floats}, {22, types::floats_bf16}}}},
                             .memory = Memory::elementwise};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::hard_swish>(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
