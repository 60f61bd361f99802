// Sum: the sum of any number of tensors.   onnx.ai/onnx/operators/onnx__Sum.html
#pragma once

#include "tenon/op/elementwise.hpp"

namespace tenon::op {

/// sum = data_0[0] + data_0[1] + …, with numpy's broadcasting.
struct Sum {
  static constexpr Spec spec{.name = "Sum",
                             .since = {8, 13},
                             .inputs = {{"data_0", "T", variadic}},
                             .outputs = {{"sum", "T"}},
                             .types = {{"T", {{8, types::floats}, {13, types::floats_bf16}}}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{};

  constexpr void infer(Infer& i) const { infer_broadcast(i); }
  template <class T>
  void compute(std::span<const TensorView<const T>> data_0, TensorView<T> sum) const {
    if (data_0.size() == 2) binary<kernels::BinaryOp::add>(spec.name, data_0[0], data_0[1], sum);
    else fold<kernels::FoldOp::sum>(data_0, sum);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// All tensors have the same extents.
struct Sum_1 {
  Ints consumed_inputs{};  ///< a memory hint that has no meaning today

  static constexpr Spec spec{.name = "Sum",
                             .since = {1, 6},
                             .inputs = {{"data_0", "T", variadic}},
                             .outputs = {{"sum", "T"}},
                             .types = {{"T", types::floats}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("consumed_inputs", &Sum_1::consumed_inputs).until(5)};

  constexpr void infer(Infer& i) const { infer_same_extents(i); }
  template <class T>
  void compute(std::span<const TensorView<const T>> data_0, TensorView<T> sum) const {
    Sum{}.compute(data_0, sum);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
