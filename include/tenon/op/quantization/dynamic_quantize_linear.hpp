// DynamicQuantizeLinear: uint8 with the scale that x needs.
// onnx.ai/onnx/operators/onnx__DynamicQuantizeLinear.html
#pragma once

#include "tenon/kernels/quantize.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// The scale spreads the range of x, widened to hold 0, over 0 to 255; it is 1 when x holds nothing but
/// zeros. op::DynamicQuantizeLinear{}(x) of (0,2.55) gives (0,255), 0.01 and 0.
struct DynamicQuantizeLinear {
  static constexpr Spec spec{.name = "DynamicQuantizeLinear",
                             .since = {11},
                             .inputs = {{"x", "T1"}},
                             .outputs = {{"y", "T2"}, {"y_scale", "tensor(float)"}, {"y_zero_point", "T2"}},
                             .types = {{"T1", types::float32}, {"T2", types::uint8}}};

  constexpr void infer(Infer& i) const {
    i.out(0, i.dims(0));
    i.out(1, Dims::of_rank(0));
    i.out(2, Dims::of_rank(0));
  }
  void compute(TensorView<const float> x, TensorView<uint8_t> y, TensorView<float> y_scale,
               TensorView<uint8_t> y_zero_point) const {
    const kernels::DynamicScale by = kernels::dynamic_scale(x.data(), x.size());
    if (y_scale) y_scale[0] = by.scale;
    if (y_zero_point) y_zero_point[0] = by.zero;
    if (y)
      kernels::quantize({.grid = kernels::QuantGrid::per_tensor(x.size()),
                         .x = x.data(),
                         .scale = &by.scale,
                         .zero = &by.zero,
                         .y = y.data()});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::DynamicQuantizeLinear)
