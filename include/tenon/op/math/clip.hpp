// Clip: elements clamped to two bounds.   onnx.ai/onnx/operators/onnx__Clip.html
#pragma once

#include <limits>

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = min(max(input, min), max): all max where max is below min; NaN stays. Each bound is one element,
/// or is left out. A bound that is left out does not change infinities. The text says that the bounds default
/// to lowest() and max(), but ONNX's definition as a function has no comparison with a bound that is left
/// out, and the reference returns the input. Version 6 has bounds by default, the largest floats, and applies
/// them. op::Clip{}(7.0f, none, 6.0f) gives 6.
struct Clip {
  static constexpr Spec spec{
      .name = "Clip",
      .since = {1, 6, 11, 12, 13},
      .inputs = {{"input", "T"},
                 {.name = "min", .type = "T", .arity = optional, .since = 11},
                 {.name = "max", .type = "T", .arity = optional, .since = 11}},
      .outputs = {{"output", "T"}},
      .types = {{"T", {{1, types::floats}, {12, types::numeric}, {13, types::numeric_bf16}}}},
      .elements = Elements::function};
  static constexpr double most = std::numeric_limits<float>::max();
  static constexpr Attributes attributes{consumed_inputs, attr_as_input<float>("max", 2).until(5),
                                         attr_as_input<float>("max", 2).since(6).until(10).by_default(most),
                                         attr_as_input<float>("min", 1).until(5),
                                         attr_as_input<float>("min", 1).since(6).until(10).by_default(-most)};

  constexpr void infer(Infer& i) const {
    i.expect_one(1);
    i.expect_one(2);
    infer_unary(i);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> min, TensorView<const T> max,
               TensorView<T> y) const {
    using Limits = std::numeric_limits<T>;
    T low = Limits::lowest(), high = Limits::max();
    if constexpr (Limits::has_infinity) {
      constexpr float infinity = std::numeric_limits<float>::infinity();
      low = T(-infinity), high = T(infinity);
    }
    kernels::clip(x.data(), y.data(), x.size(), min ? min[0] : low, max ? max[0] : high);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Clip)
