// ConvTranspose: every cell of the input adds a filter to the output.
// onnx.ai/onnx/operators/onnx__ConvTranspose.html
#pragma once

#include "tenon/kernels/conv/transposed.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/families/window.hpp"

namespace tenon::TENON_ABI::op {

/// Y (N, M, out...) from X (N, C, in...), W (C, M/group, kernel...) and, if given, B (M), where
/// out = stride (in - 1) + output_padding + dilation (kernel - 1) + 1 - pads. With output_shape or auto_pad,
/// the pads follow from the extents and an odd one lies at the end; `pads` is not read with output_shape, and
/// must be 0 with auto_pad. If output_shape leaves nothing to pad, cells that no filter reaches are added at
/// the end, as by output_padding, and as many: fewer than the stride or the dilation, whichever is greater.
/// This is PyTorch's rule, and how "less than the corresponding stride/dilation dimension" reads; runtimes
/// that compare with the stride alone refuse some of PyTorch's models. op::ConvTranspose{.strides = {2,
/// 2}}(x, w) of (1,3,8,8) and (3,16,2,2) gives (1,16,16,16).
struct ConvTranspose {
  Str auto_pad = "NOTSET";
  Ints dilations{};
  int64_t group = 1;
  Ints kernel_shape{};
  Ints output_padding{};
  Ints output_shape{};
  Ints pads{};
  Ints strides{};

  static constexpr Spec spec{.name = "ConvTranspose",
                             .since = {1, 11, 22},
                             .inputs = {{"X", "T"}, {"W", "T"}, {"B", "T", optional}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", {{1, types::floats}, {22, types::floats_bf16}}}}};
  static constexpr Attributes attributes{attr("auto_pad", &ConvTranspose::auto_pad),
                                         attr("dilations", &ConvTranspose::dilations),
                                         attr("group", &ConvTranspose::group),
                                         attr("kernel_shape", &ConvTranspose::kernel_shape),
                                         attr("output_padding", &ConvTranspose::output_padding),
                                         attr("output_shape", &ConvTranspose::output_shape),
                                         attr("pads", &ConvTranspose::pads),
                                         attr("strides", &ConvTranspose::strides)};

  constexpr WindowAttributes window() const { return {auto_pad, dilations, kernel_shape, pads, strides}; }

  constexpr void infer(Infer& i) const { infer_with(i, i.dims(1)); }
  /// The rule for weights of these extents, and a bias that is this input.
  constexpr void infer_with(Infer& i, const Dims& weights, int bias = 2) const {
    const WindowAttributes w = window();
    if (auto_pad != "" && auto_pad != "NOTSET" && std::ranges::any_of(pads, [](int64_t p) { return p != 0; }))
      return i.fail("pads exclude auto_pad '", auto_pad, "'");
    Convolved c{i.dims(0), weights, {}};
    if (!infer_convolved(i, w, group, c)) return;
    const int spatial = c.kernel.rank();
    if (!w.check_kernel(i, c.kernel) ||
        !WindowAttributes::check_list(i, "output_padding", output_padding, spatial, 0) ||
        !WindowAttributes::check_list(i, "output_shape", output_shape, spatial, 0))
      return;
    i.unify(c.x[1], c.w[0], "X's channels and W's first extent");
    if ((c.x[1] % group).differs(0)) return i.fail(c.x[1], " channels do not divide into ", group, " groups");
    const Dim channels = c.w[1] * group;
    if (c.w[1].known() && !channels.known()) return i.fail("group is ", group);
    infer_bias(i, bias, channels);
    Dims y{c.x[0], channels};
    for (int k = 0; k < spatial; ++k) {
      if (added(k) > 0 && added(k) >= padding_limit(w, k))
        return i.fail("output_padding ", added(k), " is not below the stride or dilation");
      const Dim in = c.x[k + 2], whole = natural(w, k, in, c.kernel[k]),
                out = extent_along(w, k, in, c.kernel[k]);
      const bool overflows = in.known() && c.kernel[k].known() && !(whole.known() && out.known());
      if (overflows || too_large(in) || too_large(whole) || too_large(out))
        return i.fail("the extent along axis ", k + 2, " is too large");
      if (out.below(0) || (in.known() && out.known() && out.is(0) != in.is(0)))
        return i.fail("extent ", in, " along axis ", k + 2, " would become ", out);
      const Dim reached = whole - added(k);
      i.for_runs([&] {
        if (!output_shape.empty() && !in.is(0) && reached.known() &&
            output_shape[k] - reached.value() >= padding_limit(w, k))
          i.fail("output_shape ", out, " along axis ", k + 2, ": filters end at ", reached,
                 ", and output_padding would not be below the stride or dilation");
      });
      y.push_back(out);
    }
    i.out(0, y);
  }

  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> w, TensorView<const T> b, TensorView<T> y) const {
    compute_with<T>(w.extents(), nullptr, x, w, b, y);
  }
  /// The same for weights of these extents and, if not null, in the form of ConvTransposeArgs::packed_w.
  template <class T>
  void compute_with(std::span<const int64_t> weights, const compute_t<T>* packed, TensorView<const T> x,
                    TensorView<const T> w, TensorView<const T> b, TensorView<T> y) const {
    if (y.empty()) return;
    const WindowLayout layout = layout_over(x.extents(), y.extents(), weights.subspan(2));
    Scratch scratch;
    kernels::ConvTransposeArgs<compute_t<T>> args;
    args.geometry = layout.geometry<kernels::ConvGeometry>(x.extent(0), group, x.extent(1), y.extent(1));
    args.x = widen(scratch, x.data(), x.size());
    args.w = widen(scratch, w.data(), w.size());
    args.packed_w = packed;
    args.bias = widen(scratch, b.data(), b.size());
    args.y = wide_result(scratch, y.data(), y.size());
    kernels::conv_transpose(args);
    narrow(args.y, y.data(), y.size());
  }
  template <class L>
  void loops(L& l) const {
    add_convolution_loops(l, {.group = group, .outputs = 1, .inputs = 0});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

  /// The windows of these extents over X's and Y's; one axis for two of which one is flat, for which weights
  /// are packed alike.
  WindowLayout layout_over(std::span<const int64_t> x, std::span<const int64_t> y,
                           std::span<const int64_t> kernel) const {
    const WindowAttributes w = window();
    WindowLayout layout(w, x, y, kernel);
    for (int k = 0; k < static_cast<int>(kernel.size()); ++k) {
      const int64_t excess = natural(w, k, layout.in[k], layout.kernel[k]).value() - layout.out[k];
      layout.pads_begin[k] = output_shape.empty() && !w.same() ? w.padding(k).begin
                                                               : w.split(std::max<int64_t>(0, excess)).begin;
    }
    if (layout.rank == 2) layout.drop_flat_axes();
    return layout;
  }
  constexpr int64_t added(int k) const { return output_padding.empty() ? 0 : output_padding[k]; }
  /// The exclusive upper bound of output_padding along axis k.
  static constexpr int64_t padding_limit(const WindowAttributes& w, int k) {
    return std::max(w.stride(k), w.dilation(k));
  }
  static constexpr bool too_large(Dim d) { return Dim(WindowAttributes::limit).below(d); }
  /// The extent along axis k before anything is cut off.
  constexpr Dim natural(const WindowAttributes& w, int k, Dim in, Dim kernel) const {
    if (!kernel.known()) return {};
    return (in - 1) * w.stride(k) + (added(k) + w.reach(k, kernel.value()));
  }
  constexpr Dim extent_along(const WindowAttributes& w, int k, Dim in, Dim kernel) const {
    if (!output_shape.empty()) return output_shape[k];
    if (w.same()) return in * w.stride(k);
    if (!kernel.known()) return {};
    const WindowAttributes::Padding p = w.padding(k);
    if (w.stride(k) == 1) return in + (added(k) + w.reach(k, kernel.value()) - 1 - p.begin - p.end);
    return natural(w, k, in, kernel) - (p.begin + p.end);
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::ConvTranspose)
