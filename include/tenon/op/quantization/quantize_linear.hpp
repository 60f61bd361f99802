// QuantizeLinear: y = saturate(x / y_scale + y_zero_point). onnx.ai/onnx/operators/onnx__QuantizeLinear.html
#pragma once

#include "tenon/op/families/quantization.hpp"

namespace tenon::TENON_ABI::op {

/// Rounded to nearest, ties to even, the zero point added, then clamped to the range of y's type; NaN becomes
/// the least integer. One scale for the tensor, for each index of `axis`, or for each `block_size` elements
/// along it. The quotient has the type `precision`, by default y_scale's.
/// op::QuantizeLinear{}(1.0f, 0.5f, uint8_t{128}) gives 130.
struct QuantizeLinear {
  int64_t axis = 1;
  int64_t block_size = 0;
  int64_t output_dtype = 0;
  int64_t precision = 0;
  int64_t saturate = 1;  ///< 0: numbers too large for a float8 type become NaN or infinity

  static constexpr TypeSet reals = types::float16 | types::float32 | types::bfloat16 | types::int32;
  static constexpr Spec spec{.name = "QuantizeLinear",
                             .since = {10, 13, 19, 21, 23, 24, 25},
                             .inputs = {{"x", "T1"}, {"y_scale", "T2"}, {"y_zero_point", "T3", optional}},
                             .outputs = {{"y", "T3"}},
                             .types = {{"T1", {{10, types::float32 | types::int32}, {19, reals}}},
                                       {"T2",
                                        {{10, quantized_8},
                                         {19, quantized_19},
                                         {21, quantized_21},
                                         {23, reals},
                                         {24, reals | types::float8e8m0}}},
                                       {"T3", {{23, quantized_23}, {25, quantized_25}}}},
                             .old_inputs = {{18, 1, {"y_scale", "tensor(float)"}},
                                            {22, 1, {"y_scale", "T1"}},
                                            {22, 2, {"y_zero_point", "T2", optional}}},
                             .old_outputs = {{22, 0, {"y", "T2"}}}};
  static constexpr Attributes attributes{attr("axis", &QuantizeLinear::axis).since(13),
                                         attr("block_size", &QuantizeLinear::block_size).since(21),
                                         attr("output_dtype", &QuantizeLinear::output_dtype).since(21),
                                         attr("precision", &QuantizeLinear::precision).since(23),
                                         attr("saturate", &QuantizeLinear::saturate).flag().since(19)};

  /// The type of y: the zero point's, else `output_dtype`, else uint8.
  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("precision", precision, {0, dtype<float>, dtype<float16>, dtype<bfloat16>})) return;
    infer_quantization(i, axis, block_size);
    if (i.has(2)) {
      i.out(0).type = i.in(2).type;
      if (output_dtype != 0 && i.dtype(2) != DType::undefined && dtype_from_onnx(output_dtype) != i.dtype(2))
        i.fail_type("output_dtype ", output_dtype, " is not the zero point's type, ", i.dtype(2));
      return;
    }
    i.out(0).type = output_dtype == 0 ? DType::uint8 : i.element_type("output_dtype", output_dtype);
  }
  void compute(AnyView x, AnyView y_scale, AnyView y_zero_point, AnyOut y) const {
    DType quotient = precision != 0 ? dtype_from_onnx(precision) : y_scale.dtype();
    if (quotient == DType::float8e8m0) quotient = DType::float32;
    // Integers are divided as such.
    if (quotient == DType::int32) quotient = x.dtype() == DType::int32 ? DType::undefined : DType::float32;
    kernels::quantize({.grid = quant_grid(x, y_scale, axis, block_size),
                       .x_type = x.dtype(),
                       .x = x.data(),
                       .scale_type = y_scale.dtype(),
                       .scale = y_scale.data(),
                       .y_type = y.dtype(),
                       .zero = y_zero_point.data(),
                       .y = y.data(),
                       .precision = quotient,
                       .saturate = saturate != 0});
  }
  template <class L>
  void loops(L& l) const {
    add_quantization_loops(l, axis, block_size);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::QuantizeLinear)
