// FusedConv: convolution, an addend and an activation.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.FusedConv
#pragma once

#include "tenon/op/families/fused_activation.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/nn/conv.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = activation(Conv(X, W, B) + Z), where Z has Y's extents. `activation_params` are the activation's:
/// LeakyRelu's alpha, Clip's bounds, HardSigmoid's alpha and beta; other activations ignore them.
/// op::com_microsoft::FusedConv{.activation = "Relu"}(x, w) of (1,3,8,8) and (16,3,3,3) gives (1,16,6,6).
struct FusedConv {
  std::string activation{};
  std::vector<float> activation_params{};
  Str auto_pad = "";
  Ints dilations{};
  int64_t group = 1;
  Ints kernel_shape{};
  Ints pads{};
  Ints strides{};

  static constexpr Spec spec{.name = "FusedConv",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"}, {"W", "T"}, {"B", "T", optional}, {"Z", "T", optional}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats}}};
  static constexpr Attributes attributes{attr("activation", &FusedConv::activation),
                                         attr("activation_params", &FusedConv::activation_params),
                                         attr("auto_pad", &FusedConv::auto_pad),
                                         attr("dilations", &FusedConv::dilations),
                                         attr("group", &FusedConv::group),
                                         attr("kernel_shape", &FusedConv::kernel_shape),
                                         attr("pads", &FusedConv::pads),
                                         attr("strides", &FusedConv::strides)};

  constexpr WindowAttributes window() const { return {auto_pad, dilations, kernel_shape, pads, strides}; }
  constexpr void infer(Infer& i) const {
    const std::string_view name = activation;
    if (!i.expect_choice("activation", name,
                         {"", "Clip", "HardSigmoid", "HardSwish", "LeakyRelu", "Relu", "Sigmoid", "Tanh"}))
      return;
    const int parameters = name == "Clip" || name == "HardSigmoid" ? 2 : name == "LeakyRelu" ? 1 : 0;
    if (parameters > 0 && !i.expect_entries("activation_params", activation_params.size(), parameters))
      return;
    infer_conv(i, window(), group, i.dims(0), i.dims(1));
    if (i.failed()) return;
    if (i.out(0).dims.ranked()) infer_bias(i, 2, i.out(0).dims[1]);
    if (i.has(3)) i.out(0, i.unify(i.out(0).dims, i.dims(3), "extents of Y and Z"));
  }
  template <class L>
  int32_t lower(L& to) const {
    int32_t y = to.add(Conv{std::string_view(auto_pad).empty() ? Str("NOTSET") : auto_pad, dilations, group,
                            kernel_shape, pads, strides},
                       {to.input(0), to.input(1), to.input(2)});
    if (to.input(3) >= 0) y = to.add(Add{}, {y, to.input(3)});
    FusedActivation f{activation};
    if (!activation_params.empty()) f.first = activation_params[0];
    if (activation_params.size() > 1) f.second = activation_params[1];
    return f.lower(to, y, to.in(0).type.element);
  }
  template <class L>
  void loops(L& l) const {
    const bool sums = std::string_view(activation).empty();
    add_convolution_loops(l, {.group = group, .sums = sums}, {{2, 0}, {3, 1}}, {{3, 0}}, {2, 3});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::FusedConv)
