// GroupNorm: mean 0 and variance 1 in each group of channels, then perhaps SiLU.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.GroupNorm
#pragma once

#include "tenon/op/framework/registry.hpp"
#include "tenon/op/math/swish.hpp"
#include "tenon/op/nn/group_normalization.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/transpose.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = (X - mean) / sqrt(variance + epsilon) * gamma + beta, then, if `activation` is 1, Y * sigmoid(Y). X is
/// (N, H, W, C), or with channels_last 0 (N, C, H, W), gamma and beta are (C). The channels of a sample fall
/// into `groups` equal parts, and each has a mean and a variance of its own.
/// op::com_microsoft::GroupNorm{.activation = 0, .groups = 2}(x, gamma, beta) of (2,8,8,4) and two of (4)
/// gives (2,8,8,4).
struct GroupNorm {
  Opt<int64_t> activation{};
  int64_t channels_last = 1;
  float epsilon = 1e-5f;
  Opt<int64_t> groups{};

  static constexpr TypeSet floats = types::float32 | types::float16;
  static constexpr Spec spec{.name = "GroupNorm",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"}, {"gamma", "M"}, {"beta", "M"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", floats}, {"M", floats}}};
  static constexpr Attributes attributes{attr("activation", &GroupNorm::activation).required(),
                                         attr("channels_last", &GroupNorm::channels_last).flag(),
                                         attr("epsilon", &GroupNorm::epsilon),
                                         attr("groups", &GroupNorm::groups).required()};

  constexpr void infer(Infer& i) const {
    const int64_t parts = groups.value_or(0);
    if (!i.expect_choice("activation", activation.value_or(-1), {0, 1}) ||
        !i.expect_at_least("groups", parts, 1) || !i.expect_rank(0, 4))
      return;
    const Dim channels = i.ranked(0) ? i.dims(0)[channels_last != 0 ? 3 : 1] : Dim();
    if ((channels % parts).differs(0))
      return i.fail(channels, " channels do not divide into ", parts, " groups");
    if (!i.expect_extents(1, {channels}) || !i.expect_extents(2, {channels})) return;
    i.out(0, i.dims(0));
  }
  /// Computes in float if the types differ.
  template <class L>
  int32_t lower(L& to) const {
    const DType type = to.in(0).type.element;
    const bool mixed = type != to.in(1).type.element;
    const auto cast = [&](int32_t v, DType t) {
      return mixed ? to.add(Cast{.to = static_cast<int64_t>(t)}, {v}) : v;
    };
    int32_t y = cast(to.input(0), DType::float32);
    if (channels_last != 0) y = to.add(Transpose{.perm = {0, 3, 1, 2}}, {y});
    y = to.add(GroupNormalization{.epsilon = epsilon, .num_groups = groups},
               {y, cast(to.input(1), DType::float32), cast(to.input(2), DType::float32)});
    if (activation.value_or(0) != 0) y = to.add(Swish{}, {y});
    if (channels_last != 0) y = to.add(Transpose{.perm = {0, 2, 3, 1}}, {y});
    return cast(y, type);
  }
  template <class L>
  void loops(L& l) const {
    l.over({{0, 0}}, {{0, 0}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::GroupNorm)
