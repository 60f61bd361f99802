// InstanceNormalization: mean 0 and variance 1 in each channel of each sample.
// onnx.ai/onnx/operators/onnx__InstanceNormalization.html
#pragma once

#include "tenon/op/families/channel_loops.hpp"
#include "tenon/op/families/normalization.hpp"

namespace tenon::TENON_ABI::op {

/// output = (input - mean) / sqrt(variance + epsilon) * scale + B, where input is (N, C, ...) and scale and B
/// are (C). op::InstanceNormalization{}(x, scale, b) of (2,3,8,8) and two of (3) gives (2,3,8,8).
struct InstanceNormalization {
  float epsilon = 1e-5f;

  static constexpr Spec spec{.name = "InstanceNormalization",
                             .since = {1, 6, 22},
                             .inputs = {{"input", "T"}, {"scale", "T"}, {"B", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", {{1, types::floats}, {22, types::floats_bf16}}}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{consumed_inputs, attr("epsilon", &InstanceNormalization::epsilon)};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    infer_channel_normalization(i, x.rank() > 1 ? x[1] : Dim());
  }
  template <class T>
  void compute(TensorView<const T> input, TensorView<const T> scale, TensorView<const T> b,
               TensorView<T> output) const {
    normalize_groups(input, scale.size(), scale.data(), b.data(), epsilon, output);
  }
  template <class L>
  void loops(L& l) const {
    add_channel_loops(l, 1, {{1, 0}, {2, 0}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::InstanceNormalization)
