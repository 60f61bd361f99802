// Conv: convolution of (N, C, spatial...) with a set of filters.   onnx.ai/onnx/operators/onnx__Conv.html
#pragma once

#include "tenon/kernels/conv/conv.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/families/window.hpp"

namespace tenon::TENON_ABI::op {

/// Y (N, M, out...) from X (N, C, in...), W (M, C/group, kernel...) and, if given, B (M). If auto_pad is set,
/// `pads` is not read. op::Conv{.pads = {1, 1, 1, 1}}(x, w) of (1,3,8,8) and (16,3,3,3) gives (1,16,8,8).
struct Conv {
  Str auto_pad = "NOTSET";
  Ints dilations{};
  int64_t group = 1;
  Ints kernel_shape{};
  Ints pads{};
  Ints strides{};

  static constexpr Spec spec{.name = "Conv",
                             .since = {1, 11, 22},
                             .inputs = {{"X", "T"}, {"W", "T"}, {"B", "T", optional}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", {{1, types::floats}, {22, types::floats_bf16}}}}};
  static constexpr Attributes attributes{
      attr("auto_pad", &Conv::auto_pad), attr("dilations", &Conv::dilations),
      attr("group", &Conv::group),       attr("kernel_shape", &Conv::kernel_shape),
      attr("pads", &Conv::pads),         attr("strides", &Conv::strides)};

  constexpr WindowAttributes window() const { return {auto_pad, dilations, kernel_shape, pads, strides}; }
  constexpr void infer(Infer& i) const {
    infer_conv(i, window(), group, i.dims(0), i.dims(1));
    if (!i.failed() && i.out(0).dims.ranked()) infer_bias(i, 2, i.out(0).dims[1]);
  }

  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> w, TensorView<const T> b, TensorView<T> y) const {
    if (y.empty()) return;
    WindowLayout layout(window(), x.extents(), y.extents(), w.extents().subspan(2));
    layout.drop_flat_axes();
    Scratch scratch;
    kernels::ConvArgs<compute_t<T>> args;
    args.geometry = layout.geometry<kernels::ConvGeometry>(x.extent(0), group, x.extent(1), y.extent(1));
    args.x = widen(scratch, x.data(), x.size());
    args.w = widen(scratch, w.data(), w.size());
    args.bias = widen(scratch, b.data(), b.size());
    args.y = wide_result(scratch, y.data(), y.size());
    kernels::conv(args);
    narrow(args.y, y.data(), y.size());
  }
  template <class L>
  void loops(L& l) const {
    add_convolution_loops(l, {.group = group});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Conv)
