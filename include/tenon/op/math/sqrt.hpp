// Sqrt: Y = the square root of X.   onnx.ai/onnx/operators/onnx__Sqrt.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::op {

/// Y = sqrt(X); NaN below 0. op::Sqrt{}(9.0f) gives 3.
struct Sqrt {
  static constexpr Spec spec{.name = "Sqrt",
                             .since = {1, 6, 13},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {real_types},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{consumed_inputs};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::sqrt>(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
