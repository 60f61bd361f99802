// DynamicQuantizeLinear: uint8 with the scale that x needs.
// onnx.ai/onnx/operators/onnx__DynamicQuantizeLinear.html
#pragma once

#include "tenon/kernels/quantize.hpp"
#include "tenon/kernels/reduce/reduce.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::op {

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
    float least = 0, greatest = 0;
    if (!x.empty()) {
      const kernels::ReducePlan plan = kernels::reduce_plan({{x.size()}}, 1);
      kernels::reduce<kernels::ReduceOp::min>(x.data(), &least, plan);
      kernels::reduce<kernels::ReduceOp::max>(x.data(), &greatest, plan);
    }
    const auto [scale, zero] = kernels::dynamic_scale(least, greatest);
    if (y_scale) y_scale[0] = scale;
    if (y_zero_point) y_zero_point[0] = zero;
    if (y)
      kernels::quantize({.grid = kernels::QuantGrid::per_tensor(x.size()),
                         .x = x.data(),
                         .scale = &scale,
                         .zero = &zero,
                         .y = y.data()});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
