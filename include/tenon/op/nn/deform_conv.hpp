// DeformConv: convolution whose windows see displaced cells.   onnx.ai/onnx/operators/onnx__DeformConv.html
#pragma once

#include "tenon/kernels/conv/deform.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/families/window.hpp"

namespace tenon::TENON_ABI::op {

/// Y (N, M, out...) from X (N, C, in...), W (M, C/group, kernel...) and, if given, B (M), as Conv. A kernel
/// cell sees X at its place plus offset (N, offset_group * kernel cells * spatial axes, out...), interpolated
/// linearly and multiplied by mask (N, offset_group * kernel cells, out...), if given. X is zero outside its
/// extents, and where an offset is NaN. op::DeformConv{}(x, w, offset) of (1,3,8,8), (16,3,3,3) and
/// (1,18,6,6) gives (1,16,6,6).
struct DeformConv {
  Ints dilations{};
  int64_t group = 1;
  Ints kernel_shape{};
  int64_t offset_group = 1;
  Ints pads{};
  Ints strides{};

  static constexpr Spec spec{
      .name = "DeformConv",
      .since = {19, 22},
      .inputs = {{"X", "T"}, {"W", "T"}, {"offset", "T"}, {"B", "T", optional}, {"mask", "T", optional}},
      .outputs = {{"Y", "T"}},
      .types = {{"T", {{19, types::floats}, {22, types::floats_bf16}}}}};
  static constexpr Attributes attributes{attr("dilations", &DeformConv::dilations),
                                         attr("group", &DeformConv::group),
                                         attr("kernel_shape", &DeformConv::kernel_shape),
                                         attr("offset_group", &DeformConv::offset_group),
                                         attr("pads", &DeformConv::pads),
                                         attr("strides", &DeformConv::strides)};

  constexpr WindowAttributes window() const { return {"", dilations, kernel_shape, pads, strides}; }
  constexpr void infer(Infer& i) const {
    const Dims &x = i.dims(0), &w = i.dims(1);
    for (int k : {0, 1, 2, 4})
      if (!i.expect_rank_at_least(k, 3)) return;
    if (!i.expect_at_least("offset_group", offset_group, 1)) return;
    infer_conv(i, window(), group, x, w);
    if (i.failed()) return;
    if (x.ranked() && (x[1] % offset_group).differs(0))
      return i.fail(x[1], " channels do not divide into ", offset_group, " groups of offsets");
    Dims y = i.out(0).dims;
    if (!y.ranked()) return;
    infer_bias(i, 3, y[1]);
    const int spatial = y.rank() - 2;
    Dim cells = offset_group;
    for (int k = 0; k < spatial; ++k)
      cells = cells * (kernel_shape.empty() ? w.ranked() ? w[k + 2] : Dim() : Dim(kernel_shape[k]));
    check_along(i, 2, cells * spatial, y);
    check_along(i, 4, cells, y);
    i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> w, TensorView<const T> offset,
               TensorView<const T> b, TensorView<const T> mask, TensorView<T> y) const {
    if (y.empty()) return;
    const WindowLayout layout(window(), x.extents(), y.extents(), w.extents().subspan(2));
    Scratch scratch;
    kernels::DeformConvArgs<compute_t<T>> args;
    args.geometry = layout.geometry<kernels::ConvGeometry>(x.extent(0), group, x.extent(1), y.extent(1));
    args.offset_groups = offset_group;
    args.x = widen(scratch, x.data(), x.size());
    args.w = widen(scratch, w.data(), w.size());
    args.offset = widen(scratch, offset.data(), offset.size());
    args.mask = widen(scratch, mask.data(), mask.size());
    args.bias = widen(scratch, b.data(), b.size());
    args.y = wide_result(scratch, y.data(), y.size());
    kernels::deform_conv(args);
    narrow(args.y, y.data(), y.size());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// An operand of (N, channels, out...), which may state more of y's extents than the windows do.
  static constexpr void check_along(Infer& i, int input, Dim channels, Dims& y) {
    const Dims& d = i.dims(input);
    if (!i.has(input) || !d.ranked() || !i.expect_rank(input, y.rank())) return;
    if (d[1].differs(channels)) return i.fail(i.name(input), " ", d, " needs ", channels, " channels");
    for (int k = 0; k < y.rank(); ++k)
      if (k != 1) y[k] = i.unify(y[k], d[k], "extents of Y and its offsets or mask");
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::DeformConv)
