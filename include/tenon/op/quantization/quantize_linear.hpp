// QuantizeLinear: y = saturate(x / y_scale + y_zero_point). onnx.ai/onnx/operators/onnx__QuantizeLinear.html
#pragma once

#include "tenon/op/families/quantization.hpp"

namespace tenon::op {

namespace quantize_linear_detail {
/// The type of y: the zero point's, else what `output_dtype` says, else uint8.
constexpr void infer_quantize(Infer& i, int64_t axis, int64_t block_size, int64_t output_dtype) {
  infer_quantization(i, axis, block_size);
  if (i.has(2)) {
    i.out(0).type = i.in(2).type;
    if (output_dtype != 0 && i.dtype(2) != DType::undefined && dtype_from_onnx(output_dtype) != i.dtype(2))
      i.fail("output_dtype ", output_dtype, " is not the zero point's type, ", i.dtype(2));
    return;
  }
  i.out(0).type = output_dtype == 0 ? DType::uint8 : i.element_type("output_dtype", output_dtype);
}

/// `precision` is that of the division. Integers are divided as such.
inline void quantize_linear(AnyView x, AnyView scale, AnyView zero, AnyOut y, int64_t axis,
                            int64_t block_size, DType precision, bool saturate) {
  if (precision == DType::float8e8m0) precision = DType::float32;
  if (precision == DType::int32) precision = x.dtype() == DType::int32 ? DType::undefined : DType::float32;
  kernels::quantize({.grid = quant_grid(x, scale, axis, block_size),
                     .x_type = x.dtype(),
                     .x = x.data(),
                     .scale_type = scale.dtype(),
                     .scale = scale.data(),
                     .y_type = y.dtype(),
                     .zero = zero ? zero.data() : nullptr,
                     .y = y.data(),
                     .precision = precision,
                     .saturate = saturate});
}
}  // namespace quantize_linear_detail

/// Rounded to nearest, ties to even, the zero point added, then confined to the range of y's type; NaN
/// becomes the least integer. One scale for the tensor, for each index of `axis`, or for each `block_size`
/// elements along it. The quotient has the type `precision`, by default that of y_scale.
struct QuantizeLinear {
  int64_t axis = 1;
  int64_t block_size = 0;
  int64_t output_dtype = 0;
  int64_t precision = 0;
  int64_t saturate = 1;  ///< 0: too large a number becomes NaN or infinity, for the float8 types

  static constexpr TypeSet reals = types::float16 | types::float32 | types::bfloat16 | types::int32;
  static constexpr Spec spec{
      .name = "QuantizeLinear",
      .since = {10, 13, 19, 21, 23, 24, 25},
      .inputs = {{"x", "T1"}, {"y_scale", "T2"}, {"y_zero_point", "T3", optional}},
      .outputs = {{"y", "T3"}},
      .types = {{"T1", {{10, types::float32 | types::int32}, {19, reals}}},
                {"T2",
                 {{10, quantized_8}, {19, quantized_19}, {21, quantized_21}, {23, reals}, {24, reals | types::float8e8m0}}},
                {"T3", {{23, quantized_23}, {25, quantized_25}}}},
      .old_inputs = {{18, 1, {"y_scale", "tensor(float)"}},
                     {22, 1, {"y_scale", "T1"}},
                     {22, 2, {"y_zero_point", "T2", optional}}},
      .old_outputs = {{22, 0, {"y", "T2"}}}};
  static constexpr Attributes attributes{
      attr("axis", &QuantizeLinear::axis).since(13), attr("block_size", &QuantizeLinear::block_size).since(21),
      attr("output_dtype", &QuantizeLinear::output_dtype).since(21),
      attr("precision", &QuantizeLinear::precision).since(23), attr("saturate", &QuantizeLinear::saturate).since(19)};

  constexpr void infer(Infer& i) const {
    const DType p = dtype_from_onnx(precision);
    if (precision != 0 && p != DType::float32 && p != DType::float16 && p != DType::bfloat16)
      return i.fail("precision ", precision, " is not float, float16 or bfloat16");
    quantize_linear_detail::infer_quantize(i, axis, block_size, output_dtype);
  }
  void compute(AnyView x, AnyView y_scale, AnyView y_zero_point, AnyOut y) const {
    const DType p = precision != 0 ? dtype_from_onnx(precision) : y_scale.dtype();
    quantize_linear_detail::quantize_linear(x, y_scale, y_zero_point, y, axis, block_size, p, saturate != 0);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
