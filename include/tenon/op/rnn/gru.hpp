// GRU: gated recurrent units.   onnx.ai/onnx/operators/onnx__GRU.html
#pragma once

#include "tenon/op/families/recurrent.hpp"

namespace tenon::TENON_ABI::op {

/// Gates in the order z, r, h; `activations` f, g for each direction. z, r = f(X W^T + H R^T + biases),
/// h = g(X W^T + (r * H) R^T + biases), H = (1 - z) * h + z * H; with linear_before_reset, r scales H R^T and
/// its bias instead of H. With layout 0, X is (steps, batch, input), Y (steps, directions, batch, hidden),
/// the states (directions, batch, hidden); with 1, the batch goes first. Sequences that sequence_lens end
/// early leave zeros in Y, and their last state in Y_h, which is the initial one for a length of 0.
/// call<2>(op::GRU{}, x, w, r) of (7,2,3), (1,12,3) and (1,12,4) gives Y (7,1,2,4) and Y_h (1,2,4).
struct GRU {
  std::vector<float> activation_alpha{};
  std::vector<float> activation_beta{};
  std::vector<std::string> activations{};
  Opt<float> clip{};
  Str direction = "forward";
  Opt<int64_t> hidden_size{};
  int64_t layout = 0;
  int64_t linear_before_reset = 0;

  static constexpr Spec spec = [] {
    Spec s = recurrent_spec("GRU", {1, 3, 7, 14, 22});
    s.old_outputs.push_back({2, 1, {"Y_h", "T"}});
    return s;
  }();
  static constexpr Attributes attributes{
      attr("activation_alpha", &GRU::activation_alpha), attr("activation_beta", &GRU::activation_beta),
      attr("activations", &GRU::activations), attr("clip", &GRU::clip), attr("direction", &GRU::direction),
      attr("hidden_size", &GRU::hidden_size), attr("layout", &GRU::layout).since(14),
      attr("linear_before_reset", &GRU::linear_before_reset).flag().since(3),
      ignored<int64_t>("output_sequence").until(6).by_default(0),
      // ONNX's own default is misspelt.
      initially(&GRU::direction, "foward").until(2)};

  RecurrentForm form() const {
    static constexpr Str forward = "forward";
    return {3, 2, direction == "foward" ? forward : direction, hidden_size, activations, clip, layout};
  }
  void infer(Infer& i) const {
    if (i.version() > 2 && direction == "foward") i.fail("direction: 'foward' is of version 1 only");
    infer_recurrent(i, form());
  }
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
    const auto functions =
        rnn_functions<2>(activations, activation_alpha, activation_beta, {"sigmoid", "tanh"});
    run_recurrent<kernels::GruArgs, T>(
        spec.name, form(), {x, w, r, b, sequence_lens, initial_h, y, y_h, packed_w}, [&](auto& a, int d) {
          const auto at = static_cast<std::size_t>(d) * 2;
          a.f = functions[at], a.g = functions[at + 1];
          a.linear_before_reset = linear_before_reset != 0;
          kernels::gru(a);
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

TENON_OPERATORS(tenon::op::GRU)
