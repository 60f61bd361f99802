// The losses over classes share the shape rule, the check of labels, and the reduction.
#pragma once

#include "tenon/kernels/reduce/likelihood.hpp"
#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// The rule for scores (N, C, d1, …), labels (N, d1, …) and weights (C). The loss has the labels' extents, or
/// is a scalar.
constexpr void infer_loss(Infer& i, const Str& reduction) {
  if (!i.expect_choice("reduction", reduction, {"none", "sum", "mean"}) || !i.expect_rank_at_least(0, 2) ||
      !i.expect_rank(2, 1))
    return;
  const Dims& scores = i.dims(0);
  if (scores.ranked() && i.has(2) && i.dims(2).ranked())
    i.unify(scores[1], i.dims(2)[0], "numbers of classes");
  Dims samples = scores;
  if (scores.ranked()) samples.erase(1);
  samples = i.unify(samples, i.dims(1), "extents of samples");
  i.out(0, reduction == "none" ? samples : Dims::of_rank(0));
}

/// loss[n][…] = -log_prob[n][label][…] * weight[label], 0 where the label is `ignored`; reduced to the sum,
/// or to the mean: the sum divided by the weights of all samples that are not ignored. Error{out_of_range}
/// for any other label outside of [0, C).
template <class X, class W, class T>
void reduce_likelihood(std::string_view name, const X* log_prob, int64_t classes, AnyView labels,
                       const W* weight, Opt<int64_t> ignored, const Str& reduction, TensorView<T> loss) {
  with_indices(labels, [&]<class I>(const I* target) {
    for (int64_t k = 0; k < labels.size(); ++k)
      if ((target[k] < 0 || target[k] >= classes) && !(ignored && target[k] == *ignored))
        raise(ErrorCode::out_of_range, name, "label ", target[k], " outside of [0, ", classes - 1, "]");
    const int64_t outer = labels.empty() ? 0 : labels.extent(0);
    const kernels::Likelihood<X, W, I> p{.x = log_prob,
                                         .target = target,
                                         .weight = weight,
                                         .outer = outer,
                                         .classes = classes,
                                         .inner = outer == 0 ? 1 : labels.size() / outer,
                                         .ignored = ignored};
    const bool none = reduction == "none";
    const kernels::LossSum sum = kernels::negative_log_likelihood(p, none ? loss.data() : nullptr);
    if (!none) loss[0] = convert<T>(reduction == "sum" ? sum.loss : sum.loss / sum.weight);
  });
}

}  // namespace tenon::TENON_ABI::op
