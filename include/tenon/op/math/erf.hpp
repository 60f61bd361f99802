// Erf: the error function.   onnx.ai/onnx/operators/onnx__Erf.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// output = erf(input); of integers (version 9), truncated towards zero. op::Erf{}(1.0f) gives 0.842701.
struct Erf {
  static constexpr Spec spec{.name = "Erf",
                             .since = {9, 13},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", {{9, types::numeric}, {13, types::floats_bf16}}}},
                             .elements = Elements::function};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    if constexpr (std::is_integral_v<T>) {
      kernels::unary_each(x.data(), y.data(), x.size(),
                          [](T v) { return static_cast<T>(std::erf(static_cast<double>(v))); });
    } else {
      unary<kernels::UnaryOp::erf>(x, y);
    }
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Erf)
