// NegativeLogLikelihoodLoss: loss of log-probabilities.
// onnx.ai/onnx/operators/onnx__NegativeLogLikelihoodLoss.html
#pragma once

#include "tenon/op/families/loss.hpp"

namespace tenon::TENON_ABI::op {

/// loss[n][d1]… = -input[n][target][d1]… * weight[target], with input (N, C, d1, …), target (N, d1, …) and
/// weight (C), by default ones. Samples whose target is ignore_index have loss 0. `reduction` is "none",
/// "sum", or "mean": the sum divided by the weights of the samples that are not ignored, NaN where these sum
/// to 0. Error{out_of_range} for other targets outside of [0, C). op::NegativeLogLikelihoodLoss{}(input,
/// target) of (2,3) and (2) is a scalar.
struct NegativeLogLikelihoodLoss {
  Opt<int64_t> ignore_index{};
  Str reduction = "mean";

  static constexpr Spec spec{
      .name = "NegativeLogLikelihoodLoss",
      .since = {12, 13, 22},
      .inputs = {{"input", "T"}, {"target", "Tind"}, {"weight", "T", optional}},
      .outputs = {{"loss", "T"}},
      .types = {{"T", {{12, types::floats}, {22, types::floats_bf16}}}, {"Tind", types::indices}}};
  static constexpr Attributes attributes{attr("ignore_index", &NegativeLogLikelihoodLoss::ignore_index),
                                         attr("reduction", &NegativeLogLikelihoodLoss::reduction)};

  constexpr void infer(Infer& i) const { infer_loss(i, reduction); }
  template <class T>
  void compute(TensorView<const T> input, AnyView target, TensorView<const T> weight,
               TensorView<T> loss) const {
    reduce_likelihood(spec.name, input.data(), input.extent(1), target, weight.data(), ignore_index,
                      reduction, loss);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::NegativeLogLikelihoodLoss)
