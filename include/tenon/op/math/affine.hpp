// Affine: Y = alpha X + beta; experimental, withdrawn with opset 10.
// github.com/onnx/onnx/blob/v1.4.1/docs/Operators.md#experimental-affine
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = alpha X + beta. op::Affine{.alpha = 2, .beta = 1}(3.0f) gives 7.
struct Affine {
  float alpha = 1;
  float beta = 0;

  static constexpr Spec spec{.name = "Affine",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats}},
                             .elements = Elements::function,
                             .until = 9};
  static constexpr Attributes attributes{attr("alpha", &Affine::alpha), attr("beta", &Affine::beta)};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::linear>(x, y, {.alpha = alpha, .beta = beta});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Affine)
