// PackedConv: a convolution with constant weights, and the nodes fused into it.
#pragma once

#include "tenon/base/storage.hpp"
#include "tenon/graph/fused/bounds.hpp"
#include "tenon/kernels/conv/conv.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/nn/conv.hpp"

namespace tenon::TENON_ABI::passes {

/// The rule of a convolution with weights of these extents and the operand Z.
constexpr void infer_fused_conv(op::Infer& i, const op::Conv& conv, DType element, const Extents& extents) {
  if (i.dtype(0) != element) return i.fail("X is ", i.dtype(0), ", the weights are ", element);
  op::infer_conv(i, conv.window(), conv.group, i.dims(0), Dims(extents));
  if (!i.failed()) i.expect_extents(1, i.out(0).dims);
}

/// Y = min(max(conv(X, weights) + bias + Z, lo), hi), where Z (the residual) has Y's extents or is left out.
struct PackedConv {
  op::Conv conv{};
  Bounds bounds{};
  DType element = DType::undefined;  ///< of X
  Extents extents{};                 ///< of the weights: (M, C/group, kernel...)
  Storage weights{};  ///< as conv_pack_weights writes them, or in the order above if not `packed`
  Storage bias{};     ///< (M), or empty
  bool packed = true;

  static constexpr op::Attributes fields{
      op::attr("conv", &PackedConv::conv),       op::attr("bounds", &PackedConv::bounds),
      op::attr("element", &PackedConv::element), op::attr("extents", &PackedConv::extents),
      op::attr("weights", &PackedConv::weights), op::attr("bias", &PackedConv::bias),
      op::attr("packed", &PackedConv::packed)};
  static constexpr op::Spec spec = op::own_spec("FusedConv", {{"X", "T"}, {"Z", "T", op::optional}},
                                                {{"Y", "T"}}, {{"T", types::floats_bf16}});

  constexpr void infer(op::Infer& i) const { infer_fused_conv(i, conv, element, extents); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> z, TensorView<T> y) const {
    using C = compute_t<T>;
    if (y.empty()) return;
    op::WindowLayout layout(conv.window(), x.extents(), y.extents(), std::span(extents).subspan(2));
    if (layout.rank == 2) layout.drop_flat_axes();  // weights are packed alike for one axis and for two
    Scratch scratch;
    kernels::ConvArgs<C> args;
    args.geometry = layout.geometry<kernels::ConvGeometry>(x.extent(0), conv.group, x.extent(1), y.extent(1));
    args.x = op::widen(scratch, x.data(), x.size());
    (packed ? args.packed_w : args.w) = static_cast<const C*>(weights.data());
    args.bias = bias ? static_cast<const C*>(bias.data()) : nullptr;
    args.add = op::widen(scratch, z.data(), z.size());
    args.y = op::wide_result(scratch, y.data(), y.size());
    args.lo = static_cast<C>(bounds.lo);
    args.hi = static_cast<C>(bounds.hi);
    kernels::conv(args);
    op::narrow(args.y, y.data(), y.size());
  }
};

}  // namespace tenon::TENON_ABI::passes
