// Derivatives of normalisations and losses: most of them are derived from the formulas of the operators,
// which compute in float where the operands are halves.
#pragma once

#include "tenon/graph/gradients/window.hpp"
#include "tenon/op/math/log_softmax.hpp"
#include "tenon/op/math/negative_log_likelihood_loss.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/math/softmax_cross_entropy_loss.hpp"
#include "tenon/op/nn/batch_normalization.hpp"
#include "tenon/op/nn/group_normalization.hpp"
#include "tenon/op/nn/instance_normalization.hpp"
#include "tenon/op/nn/layer_normalization.hpp"
#include "tenon/op/nn/lp_normalization.hpp"
#include "tenon/op/nn/lrn.hpp"
#include "tenon/op/nn/mean_variance_normalization.hpp"
#include "tenon/op/nn/rms_normalization.hpp"

namespace tenon::TENON_ABI::gradients {

/// The mean over axes, which are kept with extent 1.
inline Term mean(Term x, Term axes) {
  return x.writer->add(op::ReduceMean{.noop_with_empty_axes = 1}, {x, axes});
}
/// All axes from `axis` on, counted from the end.
inline Term axes_from(Step& s, int64_t axis) {
  std::vector<int64_t> axes;
  for (int64_t k = axis < 0 ? axis : axis - s.rank(s.x()); k < 0; ++k) axes.push_back(k);
  return s.w.integers(axes);
}
/// x with mean 0 and variance 1 over axes.
inline Term normalized(Term x, Term axes, double epsilon) {
  const Term centered = x - mean(x, axes);
  return centered / sqrt(mean(square(centered), axes) + epsilon);
}
/// A vector with one element per channel, reshaped to broadcast to x (N, C, ...).
inline Term over_channels(Step& s, Term v, Term x) {
  std::vector<int64_t> axes;
  for (int k = 2; k < s.rank(x); ++k) axes.push_back(k - 1);
  return cast_like(axes.empty() ? v : s.w.add(op::Unsqueeze{}, {v, s.w.integers(axes)}), x);
}

inline void layer_normalization_step(Step& s) {
  const op::LayerNormalization& norm = s.op<op::LayerNormalization>();
  const Term x = widened(s.x()), axes = axes_from(s, norm.axis), average = mean(x, axes);
  const Term centered = x - average, deviation = sqrt(mean(square(centered), axes) + double{norm.epsilon});
  const Term y = centered / deviation * widened(s.x(1));
  s.through({cast_like(s.x(2) ? y + widened(s.x(2)) : y, s.x()), s.y(1) ? cast_like(average, s.y(1)) : Term{},
             s.y(2) ? cast_like(1.0 / deviation, s.y(2)) : Term{}});
}
inline void rms_normalization_step(Step& s) {
  const op::RMSNormalization& norm = s.op<op::RMSNormalization>();
  const Term x = widened(s.x()), power = mean(square(x), axes_from(s, norm.axis));
  s.through({cast_like(x / sqrt(power + double{norm.epsilon}), s.x(1)) * s.x(1)});
}
/// x with mean 0 and variance 1 over each group of channels, as (N, groups, -1).
inline Term normalized_groups(Step& s, Term x, Term groups, double epsilon) {
  const Term extents = concat_terms({shape(x, 0, 1), groups, s.w.integers({-1})});
  return normalized(s.w.add(op::Reshape{}, {x, extents}), s.w.integers({2}), epsilon);
}
inline void group_normalization_step(Step& s, Term groups, double epsilon) {
  const Term x = widened(s.x()), y = reshape(normalized_groups(s, x, groups, epsilon), shape(x));
  s.through({cast_like(y * over_channels(s, s.x(1), x) + over_channels(s, s.x(2), x), s.x())});
}
/// Scale and bias have an element for each group.
inline void group_normalization_18_step(Step& s) {
  const op::GroupNormalization_18& norm = s.op<op::GroupNormalization_18>();
  const Term groups = s.w.integers({norm.num_groups.value_or(1)});
  const Term y = normalized_groups(s, widened(s.x()), groups, norm.epsilon);
  const auto of_groups = [](Term v) { return unsqueeze(widened(v), {1}); };
  s.through({cast_like(reshape(y * of_groups(s.x(1)) + of_groups(s.x(2)), shape(s.x())), s.x())});
}
inline void batch_normalization_step(Step& s) {
  const op::BatchNormalization& norm = s.op<op::BatchNormalization>();
  const Term x = widened(s.x());
  const double kept = norm.momentum;
  Term average = over_channels(s, s.x(3), x), variance = over_channels(s, s.x(4), x);
  Term running_mean{}, running_var{};
  if (norm.training_mode) {
    std::vector<int64_t> axes{0};
    for (int k = 2; k < s.rank(x); ++k) axes.push_back(k);
    const Term over = s.w.integers(axes);
    average = mean(x, over);
    variance = mean(square(x - average), over);
    const auto moved = [&](Term old, Term now) {
      return old * kept + cast_like(reshape(now, shape(old)), old) * (1 - kept);
    };
    running_mean = moved(s.x(3), average);
    running_var = moved(s.x(4), variance);
  }
  const Term y = (x - average) / sqrt(variance + double{norm.epsilon});
  s.through({cast_like(y * over_channels(s, s.x(1), x) + over_channels(s, s.x(2), x), s.x()), running_mean,
             running_var});
}
/// x times the sums of squares of neighbouring channels to the power -beta. A pool over channels sums them.
inline void lrn_step(Step& s) {
  const op::LRN& lrn = s.op<op::LRN>();
  const Term x = widened(s.x()), one = s.w.integers({1});
  const int64_t size = lrn.size.value_or(1), before = (size - 1) / 2;
  const Term squares = s.w.add(
      op::Reshape{}, {square(x), concat_terms({shape(x, 0, 1), one, shape(x, 1, 2), s.w.integers({-1})})});
  const op::AveragePool pool{
      .count_include_pad = 1, .kernel_shape = {size, 1}, .pads = {before, 0, size - 1 - before, 0}};
  const Term power = reshape(s.w.add(pool, {squares}), shape(x)) * double{lrn.alpha} + double{lrn.bias};
  s.through({cast_like(x * s.w.add(op::Pow{}, {power, s.w.number(-double{lrn.beta}, x)}), s.x())});
}

/// The loss of logarithms of probabilities (N, C, ...) for labels (N, ...), by weights of classes.
template <class Op>
Term likelihood_loss(Step& s, Term log_prob) {
  const Op& loss = s.op<Op>();
  Writer& w = s.w;
  Term labels = w.add(op::Cast{.to = static_cast<int64_t>(DType::int64)}, {s.x(1)}), ignored{};
  if (loss.ignore_index) {
    ignored = equal(labels, w.integer(*loss.ignore_index));
    labels = where(ignored, 0.0, labels);
  }
  const Term column = w.add(op::GatherElements{.axis = 1}, {log_prob, unsqueeze(labels, {1})});
  const Term chosen = w.add(op::Squeeze{}, {column, w.integers({1})});
  Term weight = s.x(2) ? w.add(op::Gather{}, {widened(s.x(2)), labels}) : ones_like(chosen);
  if (ignored) weight = where(ignored, 0.0, weight);
  Term result = -(chosen * weight);
  if (loss.reduction != "none") result = sum(result);
  if (loss.reduction == "mean") result = result / sum(weight);
  return cast_like(result, s.x());
}

inline constexpr Rule normalization_rules[] = {
    {&operator_id<op::Softmax>,
     [](Step& s) {
       const Term axis = s.w.integers({s.op<op::Softmax>().axis}), g = s.g();
       s.give(0, s.y() * (g - reduce_sum(g * s.y(), axis, true)));
     }},
    {&operator_id<op::LogSoftmax>,
     [](Step& s) {
       const Term axis = s.w.integers({s.op<op::LogSoftmax>().axis}), g = s.g();
       s.give(0, g - apply(op::Exp{}, s.y()) * reduce_sum(g, axis, true));
     }},
    {&operator_id<op::LayerNormalization>, layer_normalization_step},
    {&operator_id<op::RMSNormalization>, rms_normalization_step},
    {&operator_id<op::InstanceNormalization>,
     [](Step& s) {
       group_normalization_step(s, shape(s.x(), 1, 2), s.op<op::InstanceNormalization>().epsilon);
     }},
    {&operator_id<op::GroupNormalization>,
     [](Step& s) {
       const op::GroupNormalization& norm = s.op<op::GroupNormalization>();
       group_normalization_step(s, s.w.integers({norm.num_groups.value_or(1)}), norm.epsilon);
     }},
    {&operator_id<op::GroupNormalization_18>, group_normalization_18_step},
    {&operator_id<op::BatchNormalization>, batch_normalization_step},
    {&operator_id<op::MeanVarianceNormalization>,
     [](Step& s) {
       const Term x = widened(s.x()), axes = s.w.integers(s.op<op::MeanVarianceNormalization>().axes);
       const Term centered = x - s.w.add(op::ReduceMean{}, {x, axes});
       const Term variance = s.w.add(op::ReduceMean{}, {square(centered), axes});
       // The slope of the root is infinite at 0.
       const Term none = equal(variance, 0.0);
       const Term deviation = where(none, 0.0, sqrt(where(none, 1.0, variance)));
       s.through({cast_like(centered / (deviation + 1e-9), s.x())});
     }},
    {&operator_id<op::LpNormalization>,
     [](Step& s) {
       const op::LpNormalization& norm = s.op<op::LpNormalization>();
       const Term x = widened(s.x()), axis = s.w.integers({norm.axis});
       const Term length =
           norm.p == 1 ? s.w.add(op::ReduceL1{}, {x, axis}) : s.w.add(op::ReduceL2{}, {x, axis});
       s.through({cast_like(x / where(equal(length, 0.0), 1.0, length), s.x())});
     }},
    {&operator_id<op::LRN>, lrn_step},
    {&operator_id<op::NegativeLogLikelihoodLoss>,
     [](Step& s) { s.through({likelihood_loss<op::NegativeLogLikelihoodLoss>(s, widened(s.x()))}); }},
    {&operator_id<op::SoftmaxCrossEntropyLoss>,
     [](Step& s) {
       const Term log_prob = s.w.add(op::LogSoftmax{.axis = 1}, {widened(s.x())});
       s.through({likelihood_loss<op::SoftmaxCrossEntropyLoss>(s, log_prob), cast_like(log_prob, s.x())});
     }},
};

}  // namespace tenon::TENON_ABI::gradients
