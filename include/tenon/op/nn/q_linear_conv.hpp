// QLinearConv: convolution of quantised tensors.   onnx.ai/onnx/operators/onnx__QLinearConv.html
#pragma once

#include "tenon/base/scratch.hpp"
#include "tenon/kernels/requantize.hpp"
#include "tenon/op/families/quantized_conv.hpp"

namespace tenon::TENON_ABI::op {

/// y = saturate(round(sums * x_scale * w_scale / y_scale) + y_zero_point), rounded to nearest, ties to even,
/// where sums = conv(x - x_zero_point, w - w_zero_point) + B in int32. Padding counts as x_zero_point.
/// w_scale and w_zero_point are one number or one for each output channel. op::QLinearConv{}(x, 0.5f,
/// uint8_t{0}, w, 0.5f, uint8_t{0}, 1.0f, uint8_t{0}) of (1,3,8,8) and (16,3,3,3) gives (1,16,6,6).
struct QLinearConv {
  Str auto_pad = "NOTSET";
  Ints dilations{};
  int64_t group = 1;
  Ints kernel_shape{};
  Ints pads{};
  Ints strides{};

  // T3 comes first, so that `compute` is typed by the results.
  static constexpr TypeSet bytes = types::int8 | types::uint8;
  static constexpr Spec spec{.name = "QLinearConv",
                             .since = {10},
                             .inputs = {{"x", "T1"},
                                        {"x_scale", "tensor(float)"},
                                        {"x_zero_point", "T1"},
                                        {"w", "T2"},
                                        {"w_scale", "tensor(float)"},
                                        {"w_zero_point", "T2"},
                                        {"y_scale", "tensor(float)"},
                                        {"y_zero_point", "T3"},
                                        {"B", "T4", optional}},
                             .outputs = {{"y", "T3"}},
                             .types = {{"T3", bytes}, {"T1", bytes}, {"T2", bytes}, {"T4", types::int32}}};
  static constexpr Attributes attributes{
      attr("auto_pad", &QLinearConv::auto_pad), attr("dilations", &QLinearConv::dilations),
      attr("group", &QLinearConv::group),       attr("kernel_shape", &QLinearConv::kernel_shape),
      attr("pads", &QLinearConv::pads),         attr("strides", &QLinearConv::strides)};

  constexpr WindowAttributes window() const { return {auto_pad, dilations, kernel_shape, pads, strides}; }
  constexpr void infer(Infer& i) const {
    for (int k : {1, 2, 6, 7})
      if (!i.expect_one(k)) return;
    infer_conv(i, window(), group, i.dims(0), i.dims(3));
    if (i.failed()) return;
    const Dim channels = i.out(0).dims.ranked() ? i.out(0).dims[1] : Dim();
    infer_per_channel(i, 4, channels);
    infer_per_channel(i, 5, channels);
    infer_bias(i, 8, channels);
  }
  template <class T>
  void compute(AnyView x, TensorView<const float> x_scale, AnyView x_zero, AnyView w,
               TensorView<const float> w_scale, AnyView w_zero, TensorView<const float> y_scale,
               TensorView<const T> y_zero, AnyView b, TensorView<T> y) const {
    if (y.empty()) return;
    const int64_t channels = y.extent(1);
    Scratch scratch;
    float* scales = scratch.take<float>(channels);
    for (int64_t c = 0; c < channels; ++c)
      scales[c] = x_scale[0] * w_scale[w_scale.size() > 1 ? c : 0] / y_scale[0];
    int32_t* sums = scratch.take<int32_t>(y.size());
    quantized_conv(window(), group, x, x_zero, w, w_zero, static_cast<const int32_t*>(b.data()), y.extents(),
                   sums);
    const int64_t rows = y.extent(0) * channels;
    kernels::requantize<T>({.rows = rows,
                            .n = y.size() / rows,
                            .x = sums,
                            .y = y.data(),
                            .row_scale = scales,
                            .row_scales = channels,
                            .zero = y_zero.data()});
  }
  template <class L>
  void loops(L& l) const {
    // Scales and zero points of W may be for each channel.
    add_convolution_loops(l, {.group = group, .weights = 3, .sums = false},
                          {{4, l.stretched(4, 0, 1)}, {5, l.stretched(5, 0, 1)}, {8, 0}});
  }
  template <class L>
  double multiplications(const L& l) const {
    return convolution_multiplications(l, 3);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::QLinearConv)
