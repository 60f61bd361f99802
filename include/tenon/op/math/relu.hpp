// Relu: Y = max(0, X).   onnx.ai/onnx/operators/onnx__Relu.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = max(0, X); NaN stays. op::Relu{}(-3.0f) gives 0.
struct Relu {
  static constexpr Spec spec{.name = "Relu",
                             .since = {1, 6, 13, 14},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T",
                                        {{1, types::floats},
                                         {13, types::floats_bf16},
                                         {14, types::floats_bf16 | types::signed_integers}}}},
                             .elements = Elements::function};
  static constexpr Attributes attributes{consumed_inputs};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::relu>(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Relu)
