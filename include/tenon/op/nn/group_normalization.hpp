// GroupNormalization: mean 0 and variance 1 in each group of channels of each sample.
// onnx.ai/onnx/operators/onnx__GroupNormalization.html
#pragma once

#include "tenon/op/families/normalization.hpp"

namespace tenon::TENON_ABI::op {

namespace group_normalization_detail {

/// Refuses a number of groups that does not divide the channels of X.
constexpr bool expect_groups(Infer& i, int64_t groups) {
  if (!i.expect_at_least("num_groups", groups, 1) || !i.expect_rank_at_least(0, 2)) return false;
  if (i.ranked(0) && (i.dims(0)[1] % groups).differs(0))
    i.fail(i.dims(0)[1], " channels do not divide into ", groups, " groups");
  return !i.failed();
}

}  // namespace group_normalization_detail

/// Y = (X - mean) / sqrt(variance + epsilon) * scale + bias, where X is (N, C, ...) and scale and bias
/// are (C). The channels of a sample fall into num_groups equal parts, and each has a mean and a variance of
/// its own. Sums are at least as precise as `stash_type` asks. op::GroupNormalization{.num_groups = 2}(x,
/// scale, bias) of (2,4,8,8) and two of (4) gives (2,4,8,8).
struct GroupNormalization {
  float epsilon = 1e-5f;
  Opt<int64_t> num_groups{};
  int64_t stash_type = 1;

  static constexpr Spec spec{.name = "GroupNormalization",
                             .since = {21},
                             .inputs = {{"X", "T"}, {"scale", "T"}, {"bias", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats_bf16}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("epsilon", &GroupNormalization::epsilon),
                                         attr("num_groups", &GroupNormalization::num_groups).required(),
                                         attr("stash_type", &GroupNormalization::stash_type)};

  constexpr void infer(Infer& i) const {
    if (!expect_stash_type(i, stash_type)) return;
    if (!group_normalization_detail::expect_groups(i, num_groups.value_or(0))) return;
    infer_channel_normalization(i, i.ranked(0) ? i.dims(0)[1] : Dim());
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> scale, TensorView<const T> bias,
               TensorView<T> y) const {
    normalize_groups(x, *num_groups, scale.data(), bias.data(), epsilon, y);
  }
  template <class L>
  void loops(L& l) const {
    l.over({{0, 0}}, {{0, 0}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// Before version 21 scale and bias are (num_groups): the channels of a group share an element.
struct GroupNormalization_18 {
  float epsilon = 1e-5f;
  Opt<int64_t> num_groups{};

  static constexpr Spec spec{.name = "GroupNormalization",
                             .since = {18},
                             .inputs = {{"X", "T"}, {"scale", "T"}, {"bias", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats_bf16}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("epsilon", &GroupNormalization_18::epsilon),
                                         attr("num_groups", &GroupNormalization_18::num_groups).required()};

  constexpr void infer(Infer& i) const {
    if (group_normalization_detail::expect_groups(i, num_groups.value_or(0)))
      infer_channel_normalization(i, *num_groups);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> scale, TensorView<const T> bias,
               TensorView<T> y) const {
    if (x.empty()) return;
    const int64_t channels = x.extent(1), each = channels / *num_groups;
    Scratch scratch;
    const auto repeated = [&](TensorView<const T> v) {
      T* wide = scratch.take<T>(channels);
      for (int64_t g = 0; g < v.size(); ++g) std::fill_n(wide + g * each, each, v[g]);
      return wide;
    };
    const T *scales = repeated(scale), *biases = repeated(bias);
    normalize_groups(x, *num_groups, scales, biases, epsilon, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::GroupNormalization, tenon::op::GroupNormalization_18)
