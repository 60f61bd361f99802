// LSTM: long short-term memory.   onnx.ai/onnx/operators/onnx__LSTM.html
#pragma once

#include "tenon/op/families/recurrent.hpp"

namespace tenon::op {

/// Gates in the order i, o, f, c; `activations` f, g, h for each direction. With layout 0, X is (steps,
/// batch, input), Y (steps, directions, batch, hidden), the states (directions, batch, hidden); with 1, the
/// batch goes first. Sequences that sequence_lens end early leave zeros in Y, and their last state in Y_h and
/// Y_c. call<2>(op::LSTM{}, x, w, r) of (7,2,3), (1,16,3) and (1,16,4) gives Y (7,1,2,4) and Y_h (1,2,4).
struct LSTM {
  std::vector<float> activation_alpha{};
  std::vector<float> activation_beta{};
  std::vector<std::string> activations{};
  Opt<float> clip{};
  Str direction = "forward";
  Opt<int64_t> hidden_size{};
  int64_t input_forget = 0;
  int64_t layout = 0;

  static constexpr Spec spec{
      .name = "LSTM",
      .since = {1, 7, 14, 22},
      .inputs = {{"X", "T"},
                 {"W", "T"},
                 {"R", "T"},
                 {"B", "T", optional},
                 {"sequence_lens", "T1", optional},
                 {"initial_h", "T", optional},
                 {"initial_c", "T", optional},
                 {"P", "T", optional}},
      .outputs = {{"Y", "T", optional}, {"Y_h", "T", optional}, {"Y_c", "T", optional}},
      .types = {{"T", {{1, types::floats}, {22, types::floats_bf16}}}, {"T1", types::int32}}};
  static constexpr Attributes attributes{attr("activation_alpha", &LSTM::activation_alpha),
                                         attr("activation_beta", &LSTM::activation_beta),
                                         attr("activations", &LSTM::activations),
                                         attr("clip", &LSTM::clip),
                                         attr("direction", &LSTM::direction),
                                         attr("hidden_size", &LSTM::hidden_size),
                                         attr("input_forget", &LSTM::input_forget),
                                         attr("layout", &LSTM::layout).since(14),
                                         ignored<int64_t>("output_sequence").until(6).by_default(0)};

  void infer(Infer& i) const {
    const Dims state = infer_recurrent(i, {4, 3, direction, hidden_size, activations, clip, layout});
    if (i.failed()) return;
    i.out(2, state);
    i.expect_extents(6, state);
    i.expect_extents(7, {direction_count(direction), state[2] * 3});
  }
  /// Error{out_of_range} for a length below 0 or above the number of steps.
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> w, TensorView<const T> r, TensorView<const T> b,
               TensorView<const int32_t> sequence_lens, TensorView<const T> initial_h,
               TensorView<const T> initial_c, TensorView<const T> p, TensorView<T> y, TensorView<T> y_h,
               TensorView<T> y_c) const {
    using W = compute_t<T>;
    Scratch scratch;
    const auto wide = [&](TensorView<const T> v) { return widen(scratch, v.data(), v.size()); };
    const auto result = [&](TensorView<T> v) {
      return v ? wide_result(scratch, v.data(), v.size()) : nullptr;
    };
    const int directions = direction_count(direction);
    const int64_t hidden = r.extent(2), batch = x.extent(layout == 0 ? 1 : 0),
                  steps = x.extent(layout == 0 ? 0 : 1);
    if (sequence_lens) check_sequence_lens(spec.name, sequence_lens, steps);
    const auto functions =
        rnn_functions<3>(activations, activation_alpha, activation_beta, {"sigmoid", "tanh", "tanh"});
    const W *wide_x = wide(x), *wide_w = wide(w), *wide_r = wide(r), *wide_b = wide(b), *wide_p = wide(p);
    const W *h0 = wide(initial_h), *c0 = wide(initial_c);
    W *wide_y = result(y), *h1 = result(y_h), *c1 = result(y_c);
    for_directions(directions, batch, [&](int d) {
      kernels::LstmArgs<W> a;
      fill_direction(a, wide_x, x.extents(), hidden, wide_y, sequence_lens.data(), direction, d, layout);
      a.w = wide_w + d * 4 * hidden * a.input;
      a.r = wide_r + d * 4 * hidden * hidden;
      if (b) a.bias = wide_b + d * 8 * hidden;
      if (p) a.peephole = wide_p + d * 3 * hidden;
      a.initial_h = state_rows(h0, d, directions, batch, hidden, layout);
      a.initial_c = state_rows(c0, d, directions, batch, hidden, layout);
      a.final_h = state_rows(h1, d, directions, batch, hidden, layout);
      a.final_c = state_rows(c1, d, directions, batch, hidden, layout);
      if (clip) a.clip = static_cast<W>(*clip);
      const auto at = static_cast<std::size_t>(d) * 3;
      a.f = functions[at], a.g = functions[at + 1], a.h = functions[at + 2];
      a.input_forget = input_forget != 0;
      kernels::lstm(a);
    });
    if (y) narrow(wide_y, y.data(), y.size());
    if (y_h) narrow(h1, y_h.data(), y_h.size());
    if (y_c) narrow(c1, y_c.data(), y_c.size());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
