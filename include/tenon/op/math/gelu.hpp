// Gelu: the Gaussian error linear unit.   onnx.ai/onnx/operators/onnx__Gelu.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = X / 2 (1 + erf(X / sqrt(2))), or with `approximate` "tanh"
/// Y = X / 2 (1 + tanh(sqrt(2 / pi) (X + 0.044715 X^3))). op::Gelu{.approximate = "tanh"}(1.0f) gives
/// 0.841192.
struct Gelu {
  Str approximate = "none";

  static constexpr Spec spec{.name = "Gelu",
                             .since = {20},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats_bf16}},
                             .elements = Elements::function};
  static constexpr Attributes attributes{attr("approximate", &Gelu::approximate)};

  constexpr void infer(Infer& i) const {
    i.expect_choice("approximate", approximate, {"none", "tanh"});
    infer_unary(i);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    if (approximate == "tanh") unary<kernels::UnaryOp::gelu_tanh>(x, y);
    else unary<kernels::UnaryOp::gelu>(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Gelu)
