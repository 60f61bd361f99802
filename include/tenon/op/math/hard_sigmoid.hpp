// HardSigmoid: Y = max(0, min(1, alpha X + beta)).   onnx.ai/onnx/operators/onnx__HardSigmoid.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = max(0, min(1, alpha X + beta)). op::HardSigmoid{.alpha = 0.5f}(0.5f) gives 0.75.
struct HardSigmoid {
  float alpha = 0.2f;
  float beta = 0.5f;

  static constexpr Spec spec{.name = "HardSigmoid",
                             .since = {1, 6, 22},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", {{1, types::floats}, {22, types::floats_bf16}}}},
                             .elements = Elements::function};
  static constexpr Attributes attributes{attr("alpha", &HardSigmoid::alpha), attr("beta", &HardSigmoid::beta),
                                         consumed_inputs};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::hard_sigmoid>(x, y, {.alpha = alpha, .beta = beta});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::HardSigmoid)
