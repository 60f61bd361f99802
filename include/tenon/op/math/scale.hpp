// Scale: output = scale input; experimental, withdrawn with opset 10.
// github.com/onnx/onnx/blob/v1.4.1/docs/Operators.md#experimental-scale
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = scale input. op::Scale{.scale = 2}(3.0f) gives 6.
struct Scale {
  float scale = 1;

  static constexpr Spec spec{.name = "Scale",
                             .since = {1},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::floats}},
                             .elements = Elements::function,
                             .until = 9};
  static constexpr Attributes attributes{attr("scale", &Scale::scale)};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<kernels::UnaryOp::linear>(x, y, {.alpha = scale});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Scale)
