// NhwcConv: convolution, channels last.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.NhwcConv
#pragma once

#include "tenon/op/families/channels_last.hpp"
#include "tenon/op/nn/conv.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y (N, out..., M) from X (N, in..., C), W (M, kernel..., C/group) and, if given, B (M): Conv with the
/// channels as the last axis of X, W and Y. The documentation has W as in Conv, but ONNX Runtime's tools
/// transpose it when they write this operator.
/// op::com_microsoft::NhwcConv{}(x, w) of (1,8,8,3) and (16,3,3,3) gives (1,6,6,16).
struct NhwcConv {
  Str auto_pad = "NOTSET";
  Ints dilations{};
  int64_t group = 1;
  Ints kernel_shape{};
  Ints pads{};
  Ints strides{};

  static constexpr Spec spec{.name = "NhwcConv",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"}, {"W", "T"}, {"B", "T", optional}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats}}};
  static constexpr Attributes attributes{
      attr("auto_pad", &NhwcConv::auto_pad), attr("dilations", &NhwcConv::dilations),
      attr("group", &NhwcConv::group),       attr("kernel_shape", &NhwcConv::kernel_shape),
      attr("pads", &NhwcConv::pads),         attr("strides", &NhwcConv::strides)};

  constexpr void infer(Infer& i) const {
    infer_conv(i, {auto_pad, dilations, kernel_shape, pads, strides}, group, with_channels_first(i.dims(0)),
               with_channels_first(i.dims(1)));
    if (i.failed()) return;
    const Dims y = i.out(0).dims;
    infer_bias(i, 2, y.ranked() ? y[1] : Dim());
    i.out(0, with_channels_last(y));
  }
  template <class L>
  int32_t lower(L& to) const {
    const int rank = to.dims(0).rank();
    if (!to.dims(0).ranked()) return -1;
    const Conv conv{auto_pad, dilations, group, kernel_shape, pads, strides};
    const int32_t y = to.add(conv, {channels_first(to, to.input(0), rank, true),
                                    channels_first(to, to.input(1), rank, true), to.input(2)});
    return channels_back(to, y, rank, true);
  }
  template <class L>
  void loops(L& l) const {
    const int last = l.dims(0).rank() - 1;
    if (last > 0) add_convolution_loops(l, {.group = group, .inputs = last, .channels = last});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::NhwcConv)
