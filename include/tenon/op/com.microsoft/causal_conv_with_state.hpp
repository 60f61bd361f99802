// CausalConvWithState: convolution of each channel with what came before it, in pieces of a sequence.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.CausalConvWithState
#pragma once

#include "tenon/op/framework/registry.hpp"
#include "tenon/op/nn/causal_conv_with_state.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// ONNX's CausalConvWithState: one axis of steps, the last one. Other layouts, dilations and state windows
/// are refused. op::com_microsoft::CausalConvWithState{}(x, w) of (1,3,8) and (3,1,4) gives (1,3,8).
struct CausalConvWithState {
  Str activation = "none";
  int64_t channels_last = 0;  ///< only 0
  int64_t dilation = 1;       ///< only 1
  int64_t ndim = 1;           ///< only 1
  int64_t state_window = 0;   ///< only 0

  static constexpr Spec spec{
      .name = "CausalConvWithState",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"input", "T"}, {"weight", "T"}, {"bias", "T", optional}, {"past_state", "T", optional}},
      .outputs = {{"output", "T"}, {"present_state", "T"}},
      .types = {{"T", types::float32 | types::float16 | types::bfloat16}}};
  static constexpr Attributes attributes{attr("activation", &CausalConvWithState::activation),
                                         attr("channels_last", &CausalConvWithState::channels_last),
                                         attr("dilation", &CausalConvWithState::dilation),
                                         attr("ndim", &CausalConvWithState::ndim),
                                         attr("state_window", &CausalConvWithState::state_window)};

  constexpr void infer(Infer& i) const {
    if (i.expect_choice("channels_last", channels_last, {0}) && i.expect_choice("dilation", dilation, {1}) &&
        i.expect_choice("ndim", ndim, {1}) && i.expect_choice("state_window", state_window, {0}))
      op::CausalConvWithState{activation}.infer(i);
  }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    return to.add(op::CausalConvWithState{activation}, {to.input(0), to.input(1), to.input(2), to.input(3)},
                  2);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::CausalConvWithState)
