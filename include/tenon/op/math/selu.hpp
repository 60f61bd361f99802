// Selu: Y = gamma X, below 0 gamma alpha (exp(X) - 1).   onnx.ai/onnx/operators/onnx__Selu.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = gamma (X > 0 ? X : alpha (exp(X) - 1)). op::Selu{}(1.0f) gives 1.0507.
struct Selu {
  float alpha = 1.67326319217681884765625f;
  float gamma = 1.05070102214813232421875f;

  static constexpr Spec spec{.name = "Selu",
                             .since = {1, 6, 22},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {real_types<1, 6, 22>},
                             .elements = Elements::function};
  static constexpr Attributes attributes{attr("alpha", &Selu::alpha), attr("gamma", &Selu::gamma),
                                         initially(&Selu::alpha, 1.6732f).until(5),
                                         initially(&Selu::gamma, 1.0507f).until(5), consumed_inputs};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::selu>(x, y, {.alpha = alpha, .beta = gamma});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Selu)
