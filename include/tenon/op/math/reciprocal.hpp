// Reciprocal: Y = 1 / X.   onnx.ai/onnx/operators/onnx__Reciprocal.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::op {

/// Y = 1 / X; an infinity of X's sign where X is 0: op::Reciprocal{}(x).
struct Reciprocal {
  static constexpr Spec spec{.name = "Reciprocal",
                             .since = {1, 6, 13},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {real_types},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{consumed_inputs};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::reciprocal>(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
