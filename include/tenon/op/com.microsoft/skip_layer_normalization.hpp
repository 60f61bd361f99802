// SkipLayerNormalization: layer normalisation of a sum.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.SkipLayerNormalization
#pragma once

#include "tenon/op/families/skip_normalization.hpp"
#include "tenon/op/nn/layer_normalization.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// output = (S - mean) * inv_std_var * gamma + beta over the last axis of S = input + skip + bias, with
/// inv_std_var = 1 / sqrt(variance + epsilon); S is the last result. Input is (batch, steps, size) or (rows,
/// size); skip has the same extents, or lacks the batch or has 1 there.
/// op::com_microsoft::SkipLayerNormalization{}(x, skip, gamma) of (2,3,4), (2,3,4) and (4) gives (2,3,4).
struct SkipLayerNormalization {
  float epsilon = 1e-12f;

  static constexpr Spec spec{.name = "SkipLayerNormalization",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"input", "T"},
                                        {"skip", "T"},
                                        {"gamma", "T"},
                                        {"beta", "T", optional},
                                        {"bias", "T", optional}},
                             .outputs = {{"output", "T"},
                                         {"mean", "U", optional},
                                         {"inv_std_var", "U", optional},
                                         {"input_skip_bias_sum", "T", optional}},
                             .types = {{"T", types::floats_bf16}, {"U", types::float32}}};
  static constexpr Attributes attributes{attr("epsilon", &SkipLayerNormalization::epsilon)};

  constexpr void infer(Infer& i) const { infer_skip_normalization(i, 5); }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    const int32_t sum = skip_sum(to, 4), gamma = skip_input(to, 2), beta = skip_input(to, 3);
    const op::LayerNormalization norm{.epsilon = epsilon};
    const std::vector<int32_t> all = to.add(norm, {sum, gamma, beta}, 3);
    return {skip_result(to, to.add(norm, {sum, gamma, beta})), all[1], all[2], skip_result(to, sum)};
  }
  template <class L>
  void loops(L& l) const {
    l.each_axis(0, l.dims(0).rank() - 1);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::SkipLayerNormalization)
