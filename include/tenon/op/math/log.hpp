// Log: output = the natural logarithm of input.   onnx.ai/onnx/operators/onnx__Log.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::op {

/// output = ln(input); -Inf at 0, NaN below. op::Log{}(1.0f) gives 0.
struct Log {
  static constexpr Spec spec{.name = "Log",
                             .since = {1, 6, 13},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {real_types},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{consumed_inputs};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::log>(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
