// FusedGemm: matrix product with an addend and an activation.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.FusedGemm
#pragma once

#include "tenon/op/families/fused_activation.hpp"
#include "tenon/op/math/gemm.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = activation(alpha A' B' + beta C), where A' (M,K) is A or with transA its transpose, B' (K,N) likewise,
/// and C is stretched to (M,N). The activation's parameters are activation_alpha and activation_beta.
/// op::com_microsoft::FusedGemm{.activation = "Relu"}(x, w, b) of (2,3), (3,4) and (4) gives (2,4).
struct FusedGemm {
  std::string activation{};
  Opt<float> activation_alpha{};
  Opt<float> activation_beta{};
  Opt<float> activation_gamma{};
  float alpha = 1;
  float beta = 1;
  int64_t transA = 0;
  int64_t transB = 0;

  static constexpr Spec spec{
      .name = "FusedGemm",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"A", "T"}, {"B", "T"}, {"C", "T", optional}},
      .outputs = {{"Y", "T"}},
      .types = {{"T", types::floats | types::int32 | types::int64 | types::uint32 | types::uint64}}};
  static constexpr Attributes attributes{attr("activation", &FusedGemm::activation),
                                         attr("activation_alpha", &FusedGemm::activation_alpha),
                                         attr("activation_beta", &FusedGemm::activation_beta),
                                         attr("activation_gamma", &FusedGemm::activation_gamma),
                                         attr("alpha", &FusedGemm::alpha),
                                         attr("beta", &FusedGemm::beta),
                                         attr("transA", &FusedGemm::transA).flag(),
                                         attr("transB", &FusedGemm::transB).flag()};

  constexpr void infer(Infer& i) const {
    const std::string_view name = activation;
    if (!i.expect_choice(
            "activation", name,
            {"", "Celu", "Elu", "HardSigmoid", "LeakyRelu", "ParametricSoftplus", "Relu", "ScaledTanh",
             "Selu", "Sigmoid", "Softplus", "Softsign", "Tanh", "ThresholdedRelu"}))
      return;
    if (!name.empty() && is_integer(i.dtype(0))) return i.fail_type("activation '", name, "' of integers");
    gemm_detail::infer_gemm(i, transA != 0, transB != 0, i.dims(0), i.dims(1), i.dims(2));
  }
  template <class L>
  int32_t lower(L& to) const {
    const int32_t y = to.add(Gemm{alpha, beta, transA, transB}, {to.input(0), to.input(1), to.input(2)});
    if (activation == "Selu") {
      Selu f;
      if (activation_alpha) f.alpha = *activation_alpha;
      if (activation_gamma) f.gamma = *activation_gamma;
      return to.add(f, {y});
    }
    FusedActivation f{activation};
    if (activation_alpha) f.first = *activation_alpha;
    if (activation_beta) f.second = *activation_beta;
    return f.lower(to, y, to.in(0).type.element);
  }
  template <class L>
  void loops(L& l) const {
    const bool whole = gemm_detail::is_whole(alpha) && gemm_detail::is_whole(beta);
    gemm_detail::add_gemm_loops(l, transA != 0, transB != 0,
                                activation.empty() && (types::floats_bf16.contains(l.in(0).type) || whole));
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::FusedGemm)
