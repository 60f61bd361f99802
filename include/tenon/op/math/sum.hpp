// Sum: the sum of any number of tensors.   onnx.ai/onnx/operators/onnx__Sum.html
#pragma once

#include "tenon/op/families/elementwise.hpp"

namespace tenon::op {

/// sum = data_0[0] + data_0[1] + …, with numpy's broadcasting; before version 8 all tensors have the same
/// extents. op::Sum{}(1.0f, 2.0f, 3.0f) gives 6.
struct Sum {
  static constexpr Spec spec{.name = "Sum",
                             .since = {1, 6, 8, 13},
                             .inputs = {{"data_0", "T", variadic}},
                             .outputs = {{"sum", "T"}},
                             .types = {{"T", {{1, types::floats}, {13, types::floats_bf16}}}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{consumed_inputs};

  constexpr void infer(Infer& i) const {
    if (i.version() < 8) infer_same_extents(i);
    else infer_broadcast(i);
  }
  template <class T>
  void compute(std::span<const TensorView<const T>> data_0, TensorView<T> sum) const {
    if (data_0.size() == 2) binary<kernels::BinaryOp::add>(spec.name, data_0[0], data_0[1], sum);
    else fold<kernels::FoldOp::sum>(data_0, sum);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
