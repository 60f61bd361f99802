// MeanVarianceNormalization: mean 0, variance 1. onnx.ai/onnx/operators/onnx__MeanVarianceNormalization.html
#pragma once

#include <cmath>

#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/op/families/reduction.hpp"
#include "tenon/op/families/wide.hpp"

namespace tenon::TENON_ABI::op {

namespace mean_variance_normalization_detail {

/// Y = X - mean over the axes of `mask`, divided by (deviation + 1e-9) where `scaled`.
template <class T>
void normalize(TensorView<const T> x, uint32_t mask, bool scaled, TensorView<T> y) {
  if (x.empty()) return;
  using C = compute_t<T>;
  Extents kept(x.extents());
  for (int k = 0; k < kept.size(); ++k)
    if (mask >> k & 1) kept[k] = 1;
  const kernels::ReducePlan plan = kernels::reduce_plan(x.extents(), mask);
  const auto stretched = kernels::broadcast_plan(x.extents(), kept);
  Scratch scratch;
  C *mean = scratch.take<C>(plan.kept), *deviation = scratch.take<C>(plan.kept);
  const C* from = widen(scratch, x.data(), x.size());
  C* to = wide_result(scratch, y.data(), y.size());
  kernels::reduce<kernels::ReduceOp::mean>(from, mean, plan);
  kernels::binary<kernels::BinaryOp::sub>(from, static_cast<const C*>(mean), to, stretched);
  if (scaled) {
    // Squares of differences keep the digits that a difference of squares would lose.
    kernels::reduce<kernels::ReduceOp::sum_square>(static_cast<const C*>(to), deviation, plan);
    for (int64_t k = 0; k < plan.kept; ++k)
      deviation[k] = std::sqrt(deviation[k] / static_cast<C>(plan.reduced)) + C(1e-9);
    kernels::binary<kernels::BinaryOp::div>(static_cast<const C*>(to), static_cast<const C*>(deviation), to,
                                            stretched);
  }
  narrow(to, y.data(), y.size());
}

}  // namespace mean_variance_normalization_detail

/// Y = (X - mean) / (deviation + 1e-9), mean and standard deviation of X over `axes`, where an empty list
/// means all. op::MeanVarianceNormalization{.axes = {0}}(x) of (1,3) gives (-1,1).
struct MeanVarianceNormalization {
  Ints axes{0, 2, 3};

  static constexpr Spec spec{.name = "MeanVarianceNormalization",
                             .since = {9, 13},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", {{9, types::floats}, {13, types::floats_bf16}}}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("axes", &MeanVarianceNormalization::axes)};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    if (x.ranked()) i.axes(axes, x.rank());
    i.out(0, x);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    mean_variance_normalization_detail::normalize(x, reduced_axes(axes, x.rank()), true, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// The experimental operator from before opset 9, which ONNX removed from its registry: statistics of each
/// channel (axis 1), or of all of X with `across_channels`; without `normalize_variance` only the mean is
/// subtracted.
struct MeanVarianceNormalization_1 {
  int64_t across_channels = 0;
  int64_t normalize_variance = 1;

  static constexpr Spec spec{.name = "MeanVarianceNormalization",
                             .since = {1},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::floats}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{
      attr("across_channels", &MeanVarianceNormalization_1::across_channels).flag(),
      attr("normalize_variance", &MeanVarianceNormalization_1::normalize_variance).flag()};

  constexpr void infer(Infer& i) const {
    if (i.expect_rank_at_least(0, 2)) i.out(0, i.dims(0));
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    const uint32_t all = (1u << x.rank()) - 1;
    mean_variance_normalization_detail::normalize(x, across_channels != 0 ? all : all & ~2u,
                                                  normalize_variance != 0, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::MeanVarianceNormalization, tenon::op::MeanVarianceNormalization_1)
