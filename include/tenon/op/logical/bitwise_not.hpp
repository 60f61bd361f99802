// BitwiseNot: Y = X with every bit inverted.   onnx.ai/onnx/operators/onnx__BitwiseNot.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = ~X; of a signed integer -X - 1. op::BitwiseNot{}(5) gives -6.
struct BitwiseNot {
  static constexpr Spec spec{.name = "BitwiseNot",
                             .since = {18},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::integers}},
                             .elements = Elements::function};

  constexpr void infer(Infer& i) const {
    infer_unary(i, [](Dim x) { return Dim(-1) - x; });
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::bitwise_not>(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::BitwiseNot)
