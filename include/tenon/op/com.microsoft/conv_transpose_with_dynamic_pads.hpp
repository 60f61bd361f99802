// ConvTransposeWithDynamicPads: ConvTranspose, with pads as an input.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.ConvTransposeWithDynamicPads
#pragma once

#include "tenon/op/framework/registry.hpp"
#include "tenon/op/nn/conv_transpose.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// ONNX's ConvTranspose, whose pads may depend on the run.
/// op::com_microsoft::ConvTransposeWithDynamicPads{.strides = {2, 2}}(x, w, constant<int64_t, 0, 0, 1, 1>) of
/// (1,3,8,8) and (3,16,3,3) gives (1,16,16,16).
struct ConvTransposeWithDynamicPads {
  Str auto_pad = "NOTSET";
  Ints dilations{};
  int64_t group = 1;
  Ints kernel_shape{};
  Ints output_padding{};
  Ints strides{};

  static constexpr Spec spec{
      .name = "ConvTransposeWithDynamicPads",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"X", "T"}, {"W", "T"}, {"Pads", "tensor(int64)", optional}, {"B", "T", optional}},
      .outputs = {{"Y", "T"}},
      .types = {{"T", types::floats}}};
  static constexpr Attributes attributes{
      attr("auto_pad", &ConvTransposeWithDynamicPads::auto_pad),
      attr("dilations", &ConvTransposeWithDynamicPads::dilations),
      attr("group", &ConvTransposeWithDynamicPads::group),
      attr("kernel_shape", &ConvTransposeWithDynamicPads::kernel_shape),
      attr("output_padding", &ConvTransposeWithDynamicPads::output_padding),
      attr("strides", &ConvTransposeWithDynamicPads::strides)};

  constexpr void infer(Infer& i) const {
    Ints pads;
    if (!i.has(2)) return i.fail("Pads are missing, without which ONNX Runtime does not run either");
    if (!i.expect_rank(2, 1)) return;
    if (i.has_elements(2)) {
      if (!i.ints(2, pads)) return;
      return with(pads).infer_with(i, i.dims(1), 3);
    }
    const int rank = i.ranked(0) ? i.dims(0).rank() : i.dims(1).rank();
    if (!i.ranked(0) && !i.ranked(1)) return;
    Dims y = i.of_rank(rank);
    if (i.failed() || rank < 2) return;
    if (i.ranked(0)) y[0] = i.dims(0)[0];
    if (i.ranked(1) && i.dims(1).rank() == rank) y[1] = i.dims(1)[1] * group;
    i.out(0, y);
  }
  template <class L>
  int32_t lower(L& to) const {
    const AnyTensor known = to.elements(2);
    if (known.dtype() != DType::int64) return -1;
    Ints pads;
    for (const int64_t pad : known.view().template as<int64_t>()) pads.push_back(pad);
    return to.add(with(pads), {to.input(0), to.input(1), to.input(3)});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// As in ONNX Runtime, auto_pad overrides pads.
  constexpr ConvTranspose with(const Ints& pads) const {
    return {.auto_pad = auto_pad,
            .dilations = dilations,
            .group = group,
            .kernel_shape = kernel_shape,
            .output_padding = output_padding,
            .pads = auto_pad == "" || auto_pad == "NOTSET" ? pads : Ints{},
            .strides = strides};
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::ConvTransposeWithDynamicPads)
