// SkipSimplifiedLayerNormalization: normalisation of a sum by its root mean square.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.SkipSimplifiedLayerNormalization
#pragma once

#include "tenon/op/families/root_mean_square.hpp"
#include "tenon/op/families/skip_normalization.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// output = S * inv_std_var * gamma over the last axis of S = input + skip + bias, with inv_std_var = 1 /
/// sqrt(mean(S^2) + epsilon); S is the last result, and `mean` is 0. Operands are as for
/// SkipLayerNormalization.
/// op::com_microsoft::SkipSimplifiedLayerNormalization{}(x, skip, gamma) of (2,3,4), (2,3,4) and (4) gives
/// (2,3,4).
struct SkipSimplifiedLayerNormalization {
  float epsilon = 1e-12f;

  static constexpr Spec spec{
      .name = "SkipSimplifiedLayerNormalization",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"input", "T"}, {"skip", "T"}, {"gamma", "T"}, {"bias", "T", optional}},
      .outputs = {{"output", "T"},
                  {"mean", "U", optional},
                  {"inv_std_var", "U", optional},
                  {"input_skip_bias_sum", "T", optional}},
      .types = {{"T", types::floats_bf16}, {"U", types::float32}}};
  static constexpr Attributes attributes{attr("epsilon", &SkipSimplifiedLayerNormalization::epsilon)};

  constexpr void infer(Infer& i) const { infer_skip_normalization(i, 4); }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    const int rank = to.dims(0).rank();
    if (!to.dims(0).ranked()) return {};
    const int32_t sum = skip_sum(to, 3);
    const int32_t inverse =
        inverse_root_mean_square(to, sum, skip_type(to), rank - 1, rank, epsilon, DType::float32);
    const int32_t zero = function_body::number(to, DType::float32, 0);
    const int32_t y = to.add(RMSNormalization{.epsilon = epsilon}, {sum, skip_input(to, 2)});
    return {skip_result(to, y), to.add(Mul{}, {inverse, zero}), inverse, skip_result(to, sum)};
  }
  template <class L>
  void loops(L& l) const {
    l.each_axis(0, l.dims(0).rank() - 1);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::SkipSimplifiedLayerNormalization)
