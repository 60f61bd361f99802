// Derivatives of old operators that were not converted to the newest ones, because the deciding extents are
// known only in the run. Newest nodes are differentiated in their place.
#pragma once

#include "tenon/graph/gradients/movement.hpp"
#include "tenon/graph/gradients/normalization.hpp"
#include "tenon/graph/gradients/product.hpp"
#include "tenon/op/nn/dropout.hpp"
#include "tenon/op/tensor/scatter.hpp"

namespace tenon::TENON_ABI::gradients {

/// Trailing extents of 1 align B with its axes of A.
template <class Op, class Old>
void before_broadcasting_step(Step& s) {
  const auto& old = s.op<Old>();
  Term b = s.x(1);
  if (old.axis && old.broadcast) {
    Writer& w = s.w;
    const auto rank = [](Term t) { return size(shape(t)); };
    const Term from_end = *old.axis < 0 ? w.integer(-*old.axis) : rank(s.x(0)) - w.integer(*old.axis);
    const Term trailing = unsqueeze(from_end - rank(b), {0});
    b = reshape(b, concat_terms({shape(b), expand(w.integers({1}), trailing)}));
  }
  s.through({s.w.add(Op{}, {s.x(0), b})});
}

/// A vector of slopes lies along axis 1 if the number of elements matches, else along the last axis.
inline void p_relu_1_step(Step& s) {
  Term slope = s.x(1);
  const int trailing = s.rank(s.x(0)) - 1;
  if (s.rank(slope) == 1 && trailing > 1) {
    std::vector<int64_t> channels(static_cast<std::size_t>(trailing), 1), last = channels;
    channels.front() = last.back() = -1;
    const Term of_channels = equal(shape(slope), shape(s.x(0), 1, 2));
    slope = reshape(slope, where(of_channels, s.w.integers(channels), s.w.integers(last)));
  }
  s.through({s.w.add(op::PRelu{}, {s.x(0), slope})});
}

/// The axes from `axis` on are flattened into one.
template <class Op>
void from_axis_on_step(Step& s) {
  const Term lines = s.w.add(op::Flatten{.axis = s.op<op::FromAxisOn<Op>>().axis}, {s.x()});
  s.through({reshape(s.w.add(Op{}, {lines}), shape(s.x()))});
}

inline constexpr Rule old_rules[] = {
    {&operator_id<op::Add_1>, before_broadcasting_step<op::Add, op::Add_1>},
    {&operator_id<op::Sub_1>, before_broadcasting_step<op::Sub, op::Sub_1>},
    {&operator_id<op::Mul_1>, before_broadcasting_step<op::Mul, op::Mul_1>},
    {&operator_id<op::Div_1>, before_broadcasting_step<op::Div, op::Div_1>},
    {&operator_id<op::Pow_1>, before_broadcasting_step<op::Pow, op::Pow_1>},
    {&operator_id<op::PRelu_1>, p_relu_1_step},
    {&operator_id<op::Dropout_1>,
     [](Step& s) { s.give(0, s.g() * s.result(1) / (1.0 - double{s.op<op::Dropout_1>().ratio})); }},
    {&operator_id<op::Gemm_1>,
     [](Step& s) {
       const op::Gemm_1& old = s.op<op::Gemm_1>();
       s.through({s.w.add(op::Gemm{old.alpha, old.beta, old.transA, old.transB}, {s.x(0), s.x(1), s.x(2)})});
     }},
    {&operator_id<op::Scatter>,
     [](Step& s) {
       s.through({s.w.add(op::ScatterElements{.axis = s.op<op::Scatter>().axis}, {s.x(0), s.x(1), s.x(2)})});
     }},
    {&operator_id<op::Softmax_1>, from_axis_on_step<op::Softmax>},
    {&operator_id<op::LogSoftmax_1>, from_axis_on_step<op::LogSoftmax>},
    {&operator_id<op::Hardmax_1>, flat_step},
};

}  // namespace tenon::TENON_ABI::gradients
