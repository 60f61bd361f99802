// LeakyRelu: Y = X, below 0 scaled by alpha.   onnx.ai/onnx/operators/onnx__LeakyRelu.html
#pragma once

#include "tenon/op/unary.hpp"

namespace tenon::op {

/// Y = X < 0 ? alpha X : X.
struct LeakyRelu {
  float alpha = 0.01f;

  static constexpr Spec spec{.name = "LeakyRelu",
                             .since = {6, 16},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", {{6, types::floats}, {16, types::floats_bf16}}}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("alpha", &LeakyRelu::alpha)};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::leaky_relu>(x, y, {.alpha = alpha});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// As the newer versions, with a memory hint that has no meaning today.
struct LeakyRelu_1 {
  float alpha = 0.01f;
  Ints consumed_inputs{};

  static constexpr Spec spec{.name = "LeakyRelu",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {real_types_1},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("alpha", &LeakyRelu_1::alpha),
                                         attr("consumed_inputs", &LeakyRelu_1::consumed_inputs)};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    LeakyRelu{alpha}.compute(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
