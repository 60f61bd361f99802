// ConvInteger: convolution of 8-bit integers, in 32 bits.   onnx.ai/onnx/operators/onnx__ConvInteger.html
#pragma once

#include "tenon/op/families/quantized_conv.hpp"

namespace tenon::TENON_ABI::op {

/// y = conv(x - x_zero_point, w - w_zero_point) in int32, which wraps, with the extents of Conv; padding
/// counts as x_zero_point. w_zero_point is one number or one for each output channel. op::ConvInteger{}(x, w,
/// uint8_t{128}) of (1,3,8,8) and (16,3,3,3) gives (1,16,6,6).
struct ConvInteger {
  Str auto_pad = "NOTSET";
  Ints dilations{};
  int64_t group = 1;
  Ints kernel_shape{};
  Ints pads{};
  Ints strides{};

  static constexpr Spec spec{
      .name = "ConvInteger",
      .since = {10},
      .inputs = {{"x", "T1"},
                 {"w", "T2"},
                 {"x_zero_point", "T1", optional},
                 {"w_zero_point", "T2", optional}},
      .outputs = {{"y", "T3"}},
      .types = {
          {"T3", types::int32}, {"T1", types::int8 | types::uint8}, {"T2", types::int8 | types::uint8}}};
  static constexpr Attributes attributes{
      attr("auto_pad", &ConvInteger::auto_pad), attr("dilations", &ConvInteger::dilations),
      attr("group", &ConvInteger::group),       attr("kernel_shape", &ConvInteger::kernel_shape),
      attr("pads", &ConvInteger::pads),         attr("strides", &ConvInteger::strides)};

  constexpr WindowAttributes window() const { return {auto_pad, dilations, kernel_shape, pads, strides}; }
  constexpr void infer(Infer& i) const {
    infer_conv(i, window(), group, i.dims(0), i.dims(1));
    i.for_runs([&] {
      if (i.expect_one(2)) infer_per_channel(i, 3, i.out(0).dims.ranked() ? i.out(0).dims[1] : Dim());
    });
  }
  template <class T>
  void compute(AnyView x, AnyView w, AnyView x_zero, AnyView w_zero, TensorView<T> y) const {
    if (!y.empty()) quantized_conv(window(), group, x, x_zero, w, w_zero, nullptr, y.extents(), y.data());
  }
  template <class L>
  void loops(L& l) const {
    add_convolution_loops(l, {.group = group}, {{3, l.stretched(3, 0, 1)}}, {}, {});
  }
  template <class L>
  double multiplications(const L& l) const {
    return convolution_multiplications(l, 1);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ConvInteger)
