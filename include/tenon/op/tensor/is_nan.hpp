// IsNaN: Y = whether X is NaN.   onnx.ai/onnx/operators/onnx__IsNaN.html
#pragma once

#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::op {

/// Y = whether X is NaN. op::IsNaN{}(1.0f) gives false.
struct IsNaN {
  static constexpr Spec spec{
      .name = "IsNaN",
      .since = {9, 13, 20},
      .inputs = {{"X", "T1"}},
      .outputs = {{"Y", "T2"}},
      .types = {{"T1",
                 {{9, types::floats}, {13, types::floats_bf16}, {20, types::floats_bf16 | types::float8s}}},
                {"T2", types::boolean}},
      .elements = Elements::function};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<bool> y) const {
    using Limits = std::numeric_limits<T>;
    constexpr uint64_t sign = float_bits(T(-1.0f)) & ~float_bits(T(1.0f)),
                       nan = float_bits(Limits::quiet_NaN());
    // If the only NaN has the bits of -0, the sign bit is not a sign.
    constexpr bool zero = nan == sign;
    constexpr uint64_t low = Limits::has_infinity ? float_bits(Limits::infinity()) + 1 : nan;
    kernels::within(x.data(), y.data(), x.size(), zero ? ~uint64_t{0} : sign - 1, low,
                    zero ? sign : sign - 1);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::IsNaN)
