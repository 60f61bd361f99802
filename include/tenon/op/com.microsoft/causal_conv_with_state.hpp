// CausalConvWithState: convolution of each channel with what came before it, in pieces of a sequence.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.CausalConvWithState
#pragma once

#include <limits>

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/math/swish.hpp"
#include "tenon/op/nn/causal_conv_with_state.hpp"
#include "tenon/op/nn/conv.hpp"
#include "tenon/op/tensor/pad.hpp"
#include "tenon/op/tensor/slice.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// ONNX's CausalConvWithState, weight (C, 1, k) with `dilation` steps from a weight to the next: past_state
/// and present_state have (k-1) * dilation steps. With channels_last, input is (B, L, ...) and the states are
/// (B, (k-1) * dilation, ...), whose last axes together are the C channels. Other numbers of axes of steps,
/// and state windows, are refused, as by ONNX Runtime's CPU. op::com_microsoft::CausalConvWithState{}(x, w)
/// of (1,3,8) and (3,1,4) gives (1,3,8).
struct CausalConvWithState {
  Str activation = "none";
  int64_t channels_last = 0;
  int64_t dilation = 1;
  int64_t ndim = 1;          ///< only 1
  int64_t state_window = 0;  ///< only 0

  static constexpr Spec spec{
      .name = "CausalConvWithState",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"input", "T"}, {"weight", "T"}, {"bias", "T", optional}, {"past_state", "T", optional}},
      .outputs = {{"output", "T"}, {"present_state", "T"}},
      .types = {{"T", types::float32 | types::float16 | types::bfloat16}}};
  static constexpr Attributes attributes{attr("activation", &CausalConvWithState::activation),
                                         attr("channels_last", &CausalConvWithState::channels_last).flag(),
                                         attr("dilation", &CausalConvWithState::dilation),
                                         attr("ndim", &CausalConvWithState::ndim),
                                         attr("state_window", &CausalConvWithState::state_window)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("activation", activation, {"none", "silu", "swish"}) ||
        !i.expect_at_least("dilation", dilation, 1) || !i.expect_choice("ndim", ndim, {1}) ||
        !i.expect_choice("state_window", state_window, {0}))
      return;
    if (channels_last != 0 ? !i.expect_rank_at_least(0, 3) : !i.expect_rank(0, 3)) return;
    if (!i.expect_rank(1, 3) || !i.expect_rank(2, 1) || !i.ranked(0)) return;
    const Dims& x = i.dims(0);
    Dims past = x;
    const int steps = channels_last != 0 ? 1 : 2;
    past[steps] = Dim();
    if (i.ranked(1)) {
      const Dims& w = i.dims(1);
      const Dim channels = channels_last != 0 ? x.product(2, x.rank()) : x[1];
      i.unify(channels, w[0], "channels of input and weight");
      if (w[1].differs(1)) return i.fail("weight ", w, " is not (C,1,k)");
      if (!i.expect_at_least("weight's last extent", w[2], 1) || !i.expect_extents(2, {w[0]})) return;
      past[steps] = (w[2] - 1) * dilation;
    }
    if (!i.expect_extents(3, past)) return;
    if (i.ranked(3)) past[steps] = i.unify(past[steps], i.dims(3)[steps], "steps of past_state");
    i.out(0, x);
    i.out(1, past);
  }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    using namespace function_body;
    const Dims &x = to.dims(0), &w = to.dims(1);
    if (!x.ranked() || !w.ranked() || !w[0].known()) return {};
    const Dim states = (w[2] - 1) * dilation;
    if (!states.known()) return {};
    const int64_t channels = w[0].value(), before = states.value();
    // (B, C, steps) of (B, steps, ...), and back.
    const auto moved = [&](int32_t value) {
      if (channels_last == 0 || value < 0) return value;
      const int32_t flat =
          x.rank() == 3 ? value : to.add(Reshape{}, {value, joined_axes(to, value, channels)});
      return transposed(to, flat, {0, 2, 1});
    };
    const auto back = [&](int32_t value, int32_t steps) {
      if (channels_last == 0) return value;
      const int32_t flat = transposed(to, value, {0, 2, 1});
      if (x.rank() == 3) return flat;
      const int32_t input = to.input(0), batch = extent(to, input, x[0], 0),
                    last = to.add(Shape{.start = 2}, {input});
      return to.add(Reshape{.allowzero = 1}, {flat, to.add(Concat{.axis = 0}, {batch, steps, last})});
    };
    const int32_t input = moved(to.input(0)), past = moved(to.input(3));
    std::vector<int32_t> made;
    if (dilation == 1) {
      made = to.add(op::CausalConvWithState{activation}, {input, to.input(1), to.input(2), past}, 2);
    } else {
      const int32_t all = past >= 0 ? to.add(Concat{.axis = 2}, {past, input})
                                    : to.add(op::Pad{}, {input, ints(to, {0, 0, before, 0, 0, 0})});
      int32_t y = to.add(Conv{.dilations = {dilation}, .group = channels}, {all, to.input(1), to.input(2)});
      if (activation != "none") y = to.add(Swish{}, {y});
      const int32_t first = extent(to, input, channels_last != 0 ? x[1] : x[2], 2);
      made = {y,
              to.add(Slice{}, {all, first, ints(to, {std::numeric_limits<int64_t>::max()}), ints(to, {2})})};
    }
    return {back(made[0], extent(to, to.input(0), x[1], 1)), back(made[1], ints(to, {before}))};
  }
  template <class L>
  void loops(L& l) const {
    const int channels = channels_last != 0 ? 2 : 1;
    l.over({{0, 0}, {3, 0}}, {{0, 0}, {1, 0}});
    l.over({{0, channels}, {1, 0}, {2, 0}, {3, channels}}, {{0, channels}, {1, channels}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// The extents of a value whose axes from 2 on become one.
  template <class L>
  static int32_t joined_axes(L& to, int32_t value, int64_t channels) {
    const int32_t first = to.add(Shape{.end = 2, .start = 0}, {value});
    return to.add(Concat{.axis = 0}, {first, function_body::ints(to, {channels})});
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::CausalConvWithState)
