// Sigmoid: Y = 1 / (1 + exp(-X)).   onnx.ai/onnx/operators/onnx__Sigmoid.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::op {

/// Y = 1 / (1 + exp(-X)). op::Sigmoid{}(0.0f) gives 0.5.
struct Sigmoid {
  static constexpr Spec spec{.name = "Sigmoid",
                             .since = {1, 6, 13},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {real_types},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{consumed_inputs};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::sigmoid>(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
