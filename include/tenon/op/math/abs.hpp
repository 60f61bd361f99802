// Abs: Y = |X|.   onnx.ai/onnx/operators/onnx__Abs.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = |X|; the least of the signed integers stays as it is. op::Abs{}(-3.0f) gives 3.
struct Abs {
  static constexpr Spec spec{
      .name = "Abs",
      .since = {1, 6, 13},
      .inputs = {{"X", "T"}},
      .outputs = {{"Y", "T"}},
      .types = {{"T", {{1, types::floats}, {6, types::numeric}, {13, types::numeric_bf16}}}},
      .elements = Elements::function};
  static constexpr Attributes attributes{consumed_inputs};

  constexpr void infer(Infer& i) const {
    infer_unary(i, [](Dim x) { return x.below(0) ? Dim(0) - x : x; });
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::absolute>(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Abs)
