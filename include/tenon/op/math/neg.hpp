// Neg: Y = -X.   onnx.ai/onnx/operators/onnx__Neg.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = -X; integers wrap, so that the least one stays. op::Neg{}(3.0f) gives -3.
struct Neg {
  static constexpr Spec spec{.name = "Neg",
                             .since = {1, 6, 13},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T",
                                        {{1, types::floats},
                                         {6, types::floats | types::signed_integers},
                                         {13, types::floats_bf16 | types::signed_integers}}}},
                             .elements = Elements::function};
  static constexpr Attributes attributes{consumed_inputs};

  constexpr void infer(Infer& i) const {
    infer_unary(i, [](Dim x) { return Dim(0) - x; });
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::negate>(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Neg)
