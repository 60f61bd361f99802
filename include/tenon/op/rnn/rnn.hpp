// RNN: the simple recurrent network.   onnx.ai/onnx/operators/onnx__RNN.html
#pragma once

#include "tenon/op/families/recurrent.hpp"

namespace tenon::TENON_ABI::op {

/// H = f(X W^T + H R^T + biases), where f is the direction's one of `activations`. With layout 0, X is
/// (steps, batch, input), Y (steps, directions, batch, hidden), the states (directions, batch, hidden); with
/// 1, the batch goes first. Sequences that sequence_lens end early leave zeros in Y, and their last state in
/// Y_h, which is the initial one for a length of 0.
/// call<2>(op::RNN{}, x, w, r) of (7,2,3), (1,4,3) and (1,4,4) gives Y (7,1,2,4) and Y_h (1,2,4).
struct RNN {
  std::vector<float> activation_alpha{};
  std::vector<float> activation_beta{};
  std::vector<std::string> activations = std::vector<std::string>(2, "Tanh");
  Opt<float> clip{};
  Str direction = "forward";
  Opt<int64_t> hidden_size{};
  int64_t layout = 0;

  static constexpr Spec spec = recurrent_spec("RNN", {1, 7, 14, 22});
  static constexpr Attributes attributes{attr("activation_alpha", &RNN::activation_alpha),
                                         attr("activation_beta", &RNN::activation_beta),
                                         attr("activations", &RNN::activations),
                                         attr("clip", &RNN::clip),
                                         attr("direction", &RNN::direction),
                                         attr("hidden_size", &RNN::hidden_size),
                                         attr("layout", &RNN::layout).since(14),
                                         ignored<int64_t>("output_sequence").until(6).by_default(0)};

  RecurrentForm form() const { return {1, 1, direction, hidden_size, activations, clip, layout, true}; }
  void infer(Infer& i) const { infer_recurrent(i, form()); }
  /// Error{out_of_range} for a length below 0 or above the number of steps.
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> w, TensorView<const T> r, TensorView<const T> b,
               TensorView<const int32_t> sequence_lens, TensorView<const T> initial_h, TensorView<T> y,
               TensorView<T> y_h) const {
    compute_with<T>(nullptr, x, w, r, b, sequence_lens, initial_h, y, y_h);
  }
  /// compute, with W packed for the kernels (RecurrentOperands) where `packed_w` is not null.
  template <class T>
  void compute_with(const compute_t<T>* packed_w, TensorView<const T> x, TensorView<const T> w,
                    TensorView<const T> r, TensorView<const T> b, TensorView<const int32_t> sequence_lens,
                    TensorView<const T> initial_h, TensorView<T> y, TensorView<T> y_h) const {
    const auto functions = rnn_functions<1>(activations, activation_alpha, activation_beta, {"tanh"});
    run_recurrent<kernels::SimpleRnnArgs, T>(
        spec.name, form(), {x, w, r, b, sequence_lens, initial_h, y, y_h, packed_w}, [&](auto& a, int d) {
          a.f = functions[static_cast<std::size_t>(d)];
          kernels::simple_rnn(a);
        });
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

TENON_OPERATORS(tenon::op::RNN)
