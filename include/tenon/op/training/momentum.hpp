// Momentum: a step along an average of gradients, standard or Nesterov's.
// onnx.ai/onnx/operators/onnx_aionnxpreviewtraining_Momentum.html
#pragma once

#include "tenon/op/families/optimizer.hpp"

namespace tenon::TENON_ABI::op {

/// For tensors X with gradients G and momenta V, with g = norm_coefficient * X + G: V_new = alpha * V + b *
/// g, where b is 1 in the first step (T is not above 0) and beta later. X_new = X - R * V_new for mode
/// "standard", X - R * (g + alpha * V_new) for "nesterov". R and T are one number each.
/// op::call<2>(op::Momentum{.alpha = 0.9f, .beta = 1.0f, .mode = Str("standard"), .norm_coefficient = 0.0f},
/// r, t, x, g, v).
struct Momentum {
  Opt<float> alpha{};
  Opt<float> beta{};
  Opt<Str> mode{};
  Opt<float> norm_coefficient{};

  static constexpr Spec spec = optimizer_spec("Momentum");
  static constexpr Attributes attributes{attr("alpha", &Momentum::alpha).required(),
                                         attr("beta", &Momentum::beta).required(),
                                         attr("mode", &Momentum::mode).required(),
                                         attr("norm_coefficient", &Momentum::norm_coefficient).required()};

  constexpr void infer(Infer& i) const {
    if (!alpha || !beta || !mode || !norm_coefficient)
      return i.fail("alpha, beta, mode and norm_coefficient are required");
    if (i.expect_choice("mode", *mode, {"standard", "nesterov"})) infer_optimizer(i, 1);
  }
  void compute(AnyView r, TensorView<const int64_t> t, std::span<const AnyView> inputs,
               std::span<const AnyOut> outputs) const {
    const double rate = real_item(r), decay = double{*alpha}, norm = double{*norm_coefficient};
    const double share = t.item() > 0 ? double{*beta} : 1.0;
    if (*mode == "nesterov")
      return optimize<1>(inputs, outputs, [=](double& x, double g, double& v) {
        g += norm * x;
        v = decay * v + share * g;
        x -= rate * (g + decay * v);
      });
    optimize<1>(inputs, outputs, [=](double& x, double g, double& v) {
      v = decay * v + share * (norm * x + g);
      x -= rate * v;
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Momentum)
