// DequantizeLinear: y = (x - x_zero_point) * x_scale.   onnx.ai/onnx/operators/onnx__DequantizeLinear.html
#pragma once

#include "tenon/op/families/quantization.hpp"

namespace tenon::TENON_ABI::op {

/// Computed as float. One scale for the tensor, for each index of `axis`, or for each `block_size` elements
/// along it. y has the type `output_dtype`, by default x_scale's.
/// op::DequantizeLinear{}(uint8_t{130}, 0.5f, uint8_t{128}) gives 1.
struct DequantizeLinear {
  int64_t axis = 1;
  int64_t block_size = 0;
  int64_t output_dtype = 0;
  /// Whether a product with y may round its other operand to bytes; see kernels::NarrowMatrix. An operator's
  /// function sets it; it is not an attribute.
  bool round_activations = false;

  static constexpr TypeSet reals = types::float16 | types::float32 | types::bfloat16;
  static constexpr Spec spec{.name = "DequantizeLinear",
                             .since = {10, 13, 19, 21, 23, 24, 25},
                             .inputs = {{"x", "T1"}, {"x_scale", "T2"}, {"x_zero_point", "T1", optional}},
                             .outputs = {{"y", "T3"}},
                             .types = {{"T1",
                                        {{19, quantized_19 | types::int32},
                                         {21, quantized_21 | types::int32},
                                         {23, quantized_23 | types::int32},
                                         {25, quantized_25 | types::int32}}},
                                       {"T2", {{19, reals}, {24, reals | types::float8e8m0}}},
                                       {"T3", {{23, reals}}},
                                       {"T", quantized_8 | types::int32}},
                             .old_inputs = {{18, 0, {"x", "T"}},
                                            {18, 1, {"x_scale", "tensor(float)"}},
                                            {18, 2, {"x_zero_point", "T", optional}}},
                             .old_outputs = {{18, 0, {"y", "tensor(float)"}}, {22, 0, {"y", "T2"}}}};
  static constexpr Attributes attributes{attr("axis", &DequantizeLinear::axis).since(13),
                                         attr("block_size", &DequantizeLinear::block_size).since(21),
                                         attr("output_dtype", &DequantizeLinear::output_dtype).since(23)};

  constexpr void infer(Infer& i) const {
    infer_quantization(i, axis, block_size);
    if (output_dtype == 0 && i.in(1).type.kind != Kind::tensor) return;
    i.out(0).type = output_dtype == 0 ? i.dtype(1) : i.element_type("output_dtype", output_dtype);
  }
  void compute(AnyView x, AnyView x_scale, AnyView x_zero_point, AnyOut y) const {
    kernels::dequantize({.grid = quant_grid(x, x_scale, axis, block_size),
                         .x_type = x.dtype(),
                         .x = x.data(),
                         .zero = x_zero_point.data(),
                         .scale_type = x_scale.dtype(),
                         .scale = x_scale.data(),
                         .y_type = y.dtype(),
                         .y = y.data()});
  }
  template <class L>
  void loops(L& l) const {
    add_quantization_loops(l, axis, block_size);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::DequantizeLinear)
