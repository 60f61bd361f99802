// Sigmoid: Y = 1 / (1 + exp(-X)).   onnx.ai/onnx/operators/onnx__Sigmoid.html
#pragma once

#include "tenon/op/unary.hpp"

namespace tenon::op {

/// Y = 1 / (1 + exp(-X)).
struct Sigmoid {
  static constexpr Spec spec{.name = "Sigmoid",
                             .since = {6, 13},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {real_types},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::sigmoid>(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// As the newer versions, with a memory hint that has no meaning today.
struct Sigmoid_1 {
  Ints consumed_inputs{};

  static constexpr Spec spec{.name = "Sigmoid",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {real_types_1},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("consumed_inputs", &Sigmoid_1::consumed_inputs)};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    Sigmoid{}.compute(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
