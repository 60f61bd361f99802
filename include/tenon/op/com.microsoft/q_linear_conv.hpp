// QLinearConv: convolution of quantised tensors, channels first or last.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QLinearConv
#pragma once

#include "tenon/op/families/channels_last.hpp"
#include "tenon/op/families/quantized_body.hpp"
#include "tenon/op/nn/q_linear_conv.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// ONNX's QLinearConv; with channels_last, x and y have the channels as their last axis, and w is as without
/// it. op::com_microsoft::QLinearConv{.channels_last = 1}(x, 0.5f, uint8_t{0}, w, 0.5f, uint8_t{0}, 1.0f,
/// uint8_t{0}) of (1,8,8,3) and (16,3,3,3) gives (1,6,6,16).
struct QLinearConv {
  Str auto_pad = "NOTSET";
  int64_t channels_last = 0;
  Ints dilations{};
  int64_t group = 1;
  Ints kernel_shape{};
  Ints pads{};
  Ints strides{};

  static constexpr Spec spec{.name = "QLinearConv",
                             .domain = "com.microsoft",
                             .since = {1},
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
                             .types = {{"T3", signed_or_not_bytes},
                                       {"T1", signed_or_not_bytes},
                                       {"T2", signed_or_not_bytes},
                                       {"T4", types::int32}}};
  static constexpr Attributes attributes{attr("auto_pad", &QLinearConv::auto_pad),
                                         attr("channels_last", &QLinearConv::channels_last).flag(),
                                         attr("dilations", &QLinearConv::dilations),
                                         attr("group", &QLinearConv::group),
                                         attr("kernel_shape", &QLinearConv::kernel_shape),
                                         attr("pads", &QLinearConv::pads),
                                         attr("strides", &QLinearConv::strides)};

  constexpr void infer(Infer& i) const {
    if (!expect_ones(i, {1, 2, 6, 7})) return;
    const bool last = channels_last != 0;
    infer_conv(i, {auto_pad, dilations, kernel_shape, pads, strides}, group,
               last ? with_channels_first(i.dims(0)) : i.dims(0), i.dims(3));
    if (i.failed()) return;
    const Dims y = i.out(0).dims;
    const Dim channels = y.ranked() ? y[1] : Dim();
    infer_per_channel(i, 4, channels);
    infer_per_channel(i, 5, channels);
    infer_bias(i, 8, channels);
    if (last) i.out(0, with_channels_last(y));
  }
  template <class L>
  int32_t lower(L& to) const {
    const int rank = to.dims(0).rank();
    const bool last = channels_last != 0;
    if (last && !to.dims(0).ranked()) return -1;
    const op::QLinearConv conv{auto_pad, dilations, group, kernel_shape, pads, strides};
    const int32_t y =
        to.add(conv, {channels_first(to, to.input(0), rank, last), to.input(1), to.input(2), to.input(3),
                      to.input(4), to.input(5), to.input(6), to.input(7), to.input(8)});
    return channels_back(to, y, rank, last);
  }
  template <class L>
  void loops(L& l) const {
    const int last = channels_last != 0 ? l.dims(0).rank() - 1 : 1;
    if (last < 1) return;
    // Scales and zero points of W may be for each channel.
    add_convolution_loops(l, {.group = group, .weights = 3, .channels = last, .sums = false},
                          {{4, l.stretched(4, 0, 1)}, {5, l.stretched(5, 0, 1)}, {8, 0}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::QLinearConv)
