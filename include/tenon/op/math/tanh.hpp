// Tanh: the hyperbolic tangent.   onnx.ai/onnx/operators/onnx__Tanh.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::op {

/// output = tanh(input). op::Tanh{}(1.0f) gives 0.761594.
struct Tanh {
  static constexpr Spec spec{.name = "Tanh",
                             .since = {1, 6, 13},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {real_types},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{consumed_inputs};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::tanh>(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
