// Adam: a step along an average of gradients, scaled by an average of their squares.
// onnx.ai/onnx/operators/onnx_aionnxpreviewtraining_Adam.html
#pragma once

#include <cmath>

#include "tenon/op/families/optimizer.hpp"

namespace tenon::TENON_ABI::op {

/// For tensors X with gradients G, averages V and averages of squares H, with g = norm_coefficient * X + G:
/// V_new = alpha * V + (1 - alpha) * g, H_new = beta * H + (1 - beta) * g², X_new = (1 -
/// norm_coefficient_post) * (X - r * V_new / (sqrt(H_new) + epsilon)), where r is R for T = 0 and R * sqrt(1
/// - beta^T) / (1 - alpha^T) for greater T. R and T are one number each. op::call<3>(op::Adam{}, r, t, x, g,
/// v, h).
struct Adam {
  float alpha = 0.9f;
  float beta = 0.999f;
  float epsilon = 1e-6f;
  float norm_coefficient = 0;
  float norm_coefficient_post = 0;

  static constexpr Spec spec = optimizer_spec("Adam");
  static constexpr Attributes attributes{attr("alpha", &Adam::alpha), attr("beta", &Adam::beta),
                                         attr("epsilon", &Adam::epsilon),
                                         attr("norm_coefficient", &Adam::norm_coefficient),
                                         attr("norm_coefficient_post", &Adam::norm_coefficient_post)};

  constexpr void infer(Infer& i) const { infer_optimizer(i, 2); }
  void compute(AnyView r, TensorView<const int64_t> t, std::span<const AnyView> inputs,
               std::span<const AnyOut> outputs) const {
    const double a = double{alpha}, b = double{beta}, eps = double{epsilon}, norm = double{norm_coefficient};
    const double kept = 1 - double{norm_coefficient_post}, steps = static_cast<double>(t.item());
    const double corrected = std::sqrt(1 - std::pow(b, steps)) / (1 - std::pow(a, steps));
    const double rate = real_item(r) * (t.item() > 0 ? corrected : 1);
    optimize<2>(inputs, outputs, [=](double& x, double g, double& v, double& h) {
      g += norm * x;
      v = a * v + (1 - a) * g;
      h = b * h + (1 - b) * (g * g);
      x = kept * (x - rate * (v / (std::sqrt(h) + eps)));
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Adam)
