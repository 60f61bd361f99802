// Exp: output = e to the power of input.   onnx.ai/onnx/operators/onnx__Exp.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::op {

/// output = exp(input). op::Exp{}(1.0f) gives 2.71828.
struct Exp {
  static constexpr Spec spec{.name = "Exp",
                             .since = {1, 6, 13},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {real_types},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{consumed_inputs};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::exp>(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
