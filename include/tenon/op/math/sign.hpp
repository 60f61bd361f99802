// Sign: output = -1, 0 or 1.   onnx.ai/onnx/operators/onnx__Sign.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = -1, 0 or 1 as input is below, at or above 0; NaN of NaN. op::Sign{}(-3.0f) gives -1.
struct Sign {
  static constexpr Spec spec{.name = "Sign",
                             .since = {9, 13},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", {{9, types::numeric}, {13, types::numeric_bf16}}}},
                             .elements = Elements::function};

  constexpr void infer(Infer& i) const {
    infer_unary(i, [](Dim x) { return x.known() ? Dim((x.value() > 0) - (x.value() < 0)) : Dim(); });
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::sign>(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Sign)
