// Celu: Y = max(0, X) + min(0, alpha (exp(X / alpha) - 1)).   onnx.ai/onnx/operators/onnx__Celu.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = X < 0 ? alpha (exp(X / alpha) - 1) : X. op::Celu{.alpha = 2}(-2.0f) gives -1.26424.
struct Celu {
  float alpha = 1;

  static constexpr Spec spec{.name = "Celu",
                             .since = {12, 28},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", {{12, types::float32}, {28, types::floats_bf16}}}},
                             .elements = Elements::function};
  static constexpr Attributes attributes{attr("alpha", &Celu::alpha)};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::celu>(x, y, {.alpha = alpha});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Celu)
