// Adagrad: a step along the gradient, scaled by its accumulated squares.
// onnx.ai/onnx/operators/onnx_aionnxpreviewtraining_Adagrad.html
#pragma once

#include <cmath>

#include "tenon/op/families/optimizer.hpp"

namespace tenon::TENON_ABI::op {

/// For tensors X with gradients G and accumulated squared gradients H, with g = norm_coefficient * X + G:
/// H_new = H + g², X_new = X - R / (1 + T * decay_factor) * g / (sqrt(H_new) + epsilon). R and T are one
/// number each. op::call<4>(op::Adagrad{}, r, t, x1, x2, g1, g2, h1, h2).
struct Adagrad {
  float decay_factor = 0;
  float epsilon = 1e-6f;
  float norm_coefficient = 0;

  static constexpr Spec spec = optimizer_spec("Adagrad");
  static constexpr Attributes attributes{attr("decay_factor", &Adagrad::decay_factor),
                                         attr("epsilon", &Adagrad::epsilon),
                                         attr("norm_coefficient", &Adagrad::norm_coefficient)};

  constexpr void infer(Infer& i) const { infer_optimizer(i, 1); }
  void compute(AnyView r, TensorView<const int64_t> t, std::span<const AnyView> inputs,
               std::span<const AnyOut> outputs) const {
    const double rate = real_item(r) / (1 + static_cast<double>(t.item()) * double{decay_factor});
    optimize<1>(
        inputs, outputs,
        [rate, norm = double{norm_coefficient}, eps = double{epsilon}](double& x, double g, double& h) {
          g += norm * x;
          h += g * g;
          x -= rate * g / (std::sqrt(h) + eps);
        });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Adagrad)
