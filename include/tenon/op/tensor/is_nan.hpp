// IsNaN: Y = whether X is NaN.   onnx.ai/onnx/operators/onnx__IsNaN.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::op {

/// Y = whether X is NaN. op::IsNaN{}(1.0f) gives false.
struct IsNaN {
  static constexpr Spec spec{
      .name = "IsNaN",
      .since = {9, 13, 20},
      .inputs = {{"X", "T1"}},
      .outputs = {{"Y", "T2"}},
      .types = {
          {"T1", {{9, types::floats}, {13, types::floats_bf16}, {20, types::floats_bf16 | types::float8s}}},
          {"T2", types::boolean}}};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<bool> y) const {
    kernels::unary_each(x.data(), y.data(), x.size(), is_nan<T>);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  template <class T>
  static constexpr bool is_nan(T v) {
    if constexpr (std::is_floating_point_v<T>) {
      return v != v;
    } else {
      constexpr auto format = T::format;
      constexpr uint32_t nan = format.nan();
      if (nan == format.sign()) return v.bits == nan;  // the one NaN stands in the place of -0
      const uint32_t magnitude = v.bits & (format.sign() - 1);
      return format.has_infinity() ? magnitude > format.infinity() : magnitude == nan;
    }
  }
};

}  // namespace tenon::op
