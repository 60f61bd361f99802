// SoftmaxCrossEntropyLoss: loss of scores.
// onnx.ai/onnx/operators/onnx__SoftmaxCrossEntropyLoss.html
#pragma once

#include "tenon/kernels/reduce/softmax.hpp"
#include "tenon/op/families/loss.hpp"
#include "tenon/op/families/wide.hpp"

namespace tenon::TENON_ABI::op {

/// log_prob is the log of the softmax of scores over axis 1, of their extents; output is the
/// NegativeLogLikelihoodLoss of log_prob, with the same attributes: scores (N, C, d1, …), labels (N, d1, …),
/// weights (C). Error{out_of_range} for labels outside of [0, C), unless they are ignore_index.
/// op::SoftmaxCrossEntropyLoss{}(scores, labels) of (2,3) and (2) is a scalar.
struct SoftmaxCrossEntropyLoss {
  Opt<int64_t> ignore_index{};
  Str reduction = "mean";

  static constexpr Spec spec{
      .name = "SoftmaxCrossEntropyLoss",
      .since = {12, 13},
      .inputs = {{"scores", "T"}, {"labels", "Tind"}, {"weights", "T", optional}},
      .outputs = {{"output", "T"}, {"log_prob", "T", optional}},
      .types = {{"T", {{12, types::floats}, {13, types::floats_bf16}}}, {"Tind", types::indices}}};
  static constexpr Attributes attributes{attr("ignore_index", &SoftmaxCrossEntropyLoss::ignore_index),
                                         attr("reduction", &SoftmaxCrossEntropyLoss::reduction)};

  constexpr void infer(Infer& i) const {
    infer_loss(i, reduction);
    i.out(1, i.dims(0));
  }
  template <class T>
  void compute(TensorView<const T> scores, AnyView labels, TensorView<const T> weights, TensorView<T> output,
               TensorView<T> log_prob) const {
    using C = compute_t<T>;
    Scratch scratch;
    const int64_t n = scores.size();
    const C* x = widen(scratch, scores.data(), n);
    C* y = log_prob ? wide_result(scratch, log_prob.data(), n) : scratch.take<C>(n);
    if (n > 0) {
      const auto [outer, classes, inner] = split_at(scores.extents(), 1);
      kernels::log_softmax(x, y, outer, classes, inner);
      if (log_prob) narrow(y, log_prob.data(), n);
    }
    reduce_likelihood(spec.name, static_cast<const C*>(y), scores.extent(1), labels, weights.data(),
                      ignore_index, reduction, output);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::SoftmaxCrossEntropyLoss)
