// CausalConvWithState: convolution of each channel with what came before it, in pieces of a sequence.
// onnx.ai/onnx/operators/onnx__CausalConvWithState.html
#pragma once

#include "tenon/kernels/conv/conv.hpp"
#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// output (B, C, L) from past_state (B, C, k-1), zeros if left out, followed by input (B, C, L), and weight
/// (C, 1, k): output t is the sum of weight j times element t + j of the two, plus bias (C), then x
/// sigmoid(x) if `activation` is silu or swish. present_state holds the last k-1 elements for the next piece.
/// op::CausalConvWithState{}(x, w) of (1,3,8) and (3,1,4) gives (1,3,8) and (1,3,3).
struct CausalConvWithState {
  Str activation = "none";

  static constexpr Spec spec{
      .name = "CausalConvWithState",
      .since = {27},
      .inputs = {{"input", "T"}, {"weight", "T"}, {"bias", "T", optional}, {"past_state", "T", optional}},
      .outputs = {{"output", "T"}, {"present_state", "T"}},
      .types = {{"T", types::float32 | types::float16 | types::bfloat16}}};
  static constexpr Attributes attributes{attr("activation", &CausalConvWithState::activation)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("activation", activation, {"none", "silu", "swish"})) return;
    for (int k : {0, 1, 3})
      if (!i.expect_rank(k, 3)) return;
    if (!i.expect_rank(2, 1)) return;
    Dims x = i.ranked(0) ? i.dims(0) : Dims::of_rank(3);
    Dim before;
    if (i.ranked(1)) {
      const Dims& w = i.dims(1);
      x[1] = i.unify(x[1], w[0], "channels of input and weight");
      if (w[1].differs(1)) return i.fail("weight ", w, " is not (C,1,k)");
      if (!i.expect_at_least("weight's last extent", w[2], 1)) return;
      before = w[2] - 1;
    }
    if (i.ranked(2)) x[1] = i.unify(x[1], i.dims(2)[0], "channels of input and bias");
    if (i.ranked(3)) {
      const Dims& past = i.dims(3);
      x[0] = i.unify(x[0], past[0], "batches of input and past_state");
      x[1] = i.unify(x[1], past[1], "channels of input and past_state");
      before = i.unify(before, past[2], "k-1 and past_state's last extent");
    }
    i.out(0, x);
    i.out(1, Dims{x[0], x[1], before});
  }
  template <class T>
  void compute(TensorView<const T> input, TensorView<const T> weight, TensorView<const T> bias,
               TensorView<const T> past, TensorView<T> output, TensorView<T> present) const {
    if (output.empty() && present.empty()) return;
    const int64_t rows = input.extent(0) * input.extent(1), length = input.extent(2),
                  before = weight.extent(2) - 1;
    if (!present.empty())
      for (int64_t r = 0; r < rows; ++r)
        take_last(past ? past.data() + r * before : nullptr, input.data() + r * length, length, before,
                  present.data() + r * before);
    if (output.empty()) return;
    Scratch scratch;
    const T* x = input.data();
    if (past && before > 0) {
      // The past, followed by the input.
      T* joined = scratch.take<T>(rows * (before + length));
      for (int64_t r = 0; r < rows; ++r) {
        T* row = joined + r * (before + length);
        std::copy_n(past.data() + r * before, before, row);
        std::copy_n(input.data() + r * length, length, row + before);
      }
      x = joined;
    }
    const int64_t held = x == input.data() ? 0 : before;
    const int64_t in = held + length, kernel = before + 1, one = 1, pad = before - held;
    kernels::ConvArgs<float> args;
    kernels::ConvGeometry& g = args.geometry;
    g.rank = 1;
    g.batch = input.extent(0);
    g.groups = g.in_channels = g.out_channels = input.extent(1);
    g.in = &in, g.out = &length, g.kernel = &kernel;
    g.strides = g.dilations = &one;
    g.pads = &pad;
    args.x = widen(scratch, x, rows * in);
    args.w = widen(scratch, weight.data(), weight.size());
    args.y = wide_result(scratch, output.data(), output.size());
    const float* biases = widen(scratch, bias.data(), bias.size());
    // Narrow floats are rounded after each of ONNX's steps: the sum, the bias, the activation.
    constexpr bool narrow_floats = !std::is_same_v<T, float>;
    if (!narrow_floats) args.bias = biases;
    kernels::conv(args);
    const auto rounded = [&] {
      if constexpr (narrow_floats) {
        narrow(args.y, output.data(), output.size());
        kernels::convert_half(output.data(), args.y, output.size());
      }
    };
    if (narrow_floats && biases) {
      rounded();
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t k = 0; k < length; ++k) args.y[r * length + k] += biases[r % g.groups];
    }
    if (activation != "none") {
      rounded();
      kernels::unary<kernels::UnaryOp::swish>(args.y, args.y, output.size(), {.alpha = 1});
    }
    narrow(args.y, output.data(), output.size());
  }
  template <class L>
  void loops(L& l) const {
    l.over({{0, 0}, {3, 0}}, {{0, 0}, {1, 0}});
    l.over({{0, 1}, {1, 0}, {2, 0}, {3, 1}}, {{0, 1}, {1, 1}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// The last n of n elements of the past, zeros if it is null, followed by `length` elements of x.
  template <class T>
  static void take_last(const T* past, const T* x, int64_t length, int64_t n, T* to) {
    const int64_t kept = std::max<int64_t>(0, n - length);
    if (past) std::copy_n(past + (n - kept), kept, to);
    else std::fill_n(to, kept, T{});
    std::copy_n(x + (length - (n - kept)), n - kept, to + kept);
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::CausalConvWithState)
