// LeakyRelu: Y = X, below 0 scaled by alpha.   onnx.ai/onnx/operators/onnx__LeakyRelu.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::op {

/// Y = X < 0 ? alpha X : X. op::LeakyRelu{.alpha = 0.5f}(-3.0f) gives -1.5.
struct LeakyRelu {
  float alpha = 0.01f;

  static constexpr Spec spec{.name = "LeakyRelu",
                             .since = {1, 6, 16},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", {{1, types::floats}, {16, types::floats_bf16}}}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("alpha", &LeakyRelu::alpha), consumed_inputs};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::leaky_relu>(x, y, {.alpha = alpha});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
