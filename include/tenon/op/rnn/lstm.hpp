// LSTM: long short-term memory.   onnx.ai/onnx/operators/onnx__LSTM.html
#pragma once

#include "tenon/op/families/recurrent.hpp"

namespace tenon::TENON_ABI::op {

/// Gates in the order i, o, f, c; `activations` f, g, h for each direction. With layout 0, X is (steps,
/// batch, input), Y (steps, directions, batch, hidden), the states (directions, batch, hidden); with 1, the
/// batch goes first. `clip` applies to the input of each activation, h included: the text says so without an
/// exception, and the reference has no clip. The cell itself is not clipped. Sequences that sequence_lens end
/// early leave zeros in Y, and their last state in Y_h and Y_c, which is the initial one for a length of 0.
/// call<2>(op::LSTM{}, x, w, r) of (7,2,3), (1,16,3) and (1,16,4) gives Y (7,1,2,4) and Y_h (1,2,4).
struct LSTM {
  std::vector<float> activation_alpha{};
  std::vector<float> activation_beta{};
  std::vector<std::string> activations{};
  Opt<float> clip{};
  Str direction = "forward";
  Opt<int64_t> hidden_size{};
  int64_t input_forget = 0;
  int64_t layout = 0;

  static constexpr Spec spec = [] {
    Spec s = recurrent_spec("LSTM", {1, 7, 14, 22});
    s.inputs.push_back({"initial_c", "T", optional});
    s.inputs.push_back({"P", "T", optional});
    s.outputs.push_back({"Y_c", "T", optional});
    return s;
  }();
  static constexpr Attributes attributes{attr("activation_alpha", &LSTM::activation_alpha),
                                         attr("activation_beta", &LSTM::activation_beta),
                                         attr("activations", &LSTM::activations),
                                         attr("clip", &LSTM::clip),
                                         attr("direction", &LSTM::direction),
                                         attr("hidden_size", &LSTM::hidden_size),
                                         attr("input_forget", &LSTM::input_forget).flag(),
                                         attr("layout", &LSTM::layout).since(14),
                                         ignored<int64_t>("output_sequence").until(6).by_default(0)};

  RecurrentForm form() const { return {4, 3, direction, hidden_size, activations, clip, layout}; }
  void infer(Infer& i) const {
    const Dims state = infer_recurrent(i, form());
    if (i.failed()) return;
    i.out(2, state);
    i.for_runs([&] {
      i.expect_extents(6, state);
      i.expect_extents(7, {direction_count(direction), state[2] * 3});
    });
  }
  /// Error{out_of_range} for a length below 0 or above the number of steps.
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> w, TensorView<const T> r, TensorView<const T> b,
               TensorView<const int32_t> sequence_lens, TensorView<const T> initial_h,
               TensorView<const T> initial_c, TensorView<const T> p, TensorView<T> y, TensorView<T> y_h,
               TensorView<T> y_c) const {
    compute_with<T>(nullptr, x, w, r, b, sequence_lens, initial_h, initial_c, p, y, y_h, y_c);
  }
  /// compute, with W packed for the kernels (RecurrentOperands) where `packed_w` is not null.
  template <class T>
  void compute_with(const compute_t<T>* packed_w, TensorView<const T> x, TensorView<const T> w,
                    TensorView<const T> r, TensorView<const T> b, TensorView<const int32_t> sequence_lens,
                    TensorView<const T> initial_h, TensorView<const T> initial_c, TensorView<const T> p,
                    TensorView<T> y, TensorView<T> y_h, TensorView<T> y_c) const {
    using W = compute_t<T>;
    Scratch scratch;
    const W *c0 = widen(scratch, initial_c.data(), initial_c.size()),
            *peephole = widen(scratch, p.data(), p.size());
    W* c1 = y_c ? wide_result(scratch, y_c.data(), y_c.size()) : nullptr;
    const auto functions =
        rnn_functions<3>(activations, activation_alpha, activation_beta, {"sigmoid", "tanh", "tanh"});
    const int directions = direction_count(direction);
    // `this` is captured by name because compilers differ in its place among a generic lambda's captures: in
    // a program with units of g++ and clang, one compiler's function would read captures that the other's
    // wrote.
    run_recurrent<kernels::LstmArgs, T>(
        spec.name, form(), {x, w, r, b, sequence_lens, initial_h, y, y_h, packed_w},
        [&, this](auto& a, int d) {
          if (p) a.peephole = peephole + d * 3 * a.hidden;
          a.initial_c = state_rows(c0, d, directions, a.batch, a.hidden, layout);
          a.final_c = state_rows(c1, d, directions, a.batch, a.hidden, layout);
          const auto at = static_cast<std::size_t>(d) * 3;
          a.f = functions[at], a.g = functions[at + 1], a.h = functions[at + 2];
          a.input_forget = input_forget != 0;
          kernels::lstm(a);
        });
    if (y_c) narrow(c1, y_c.data(), y_c.size());
  }
  template <class L>
  void loops(L& l) const {
    add_recurrent_loops(l, layout);
  }
  template <class L>
  double multiplications(const L& l) const {
    return recurrent_multiplications(l);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::LSTM)
