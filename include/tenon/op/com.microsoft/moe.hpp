// MoE: each token is processed by the few experts that its router numbers choose.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MoE
#pragma once

#include "tenon/op/families/experts.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// output = sum over a token's experts e of weight[e] * (activation(x W1[e]^T + b1[e]) W2[e]^T + b2[e]).
/// input is (tokens, hidden) or (batch, steps, hidden), router_probs (tokens, experts), W1 (experts, inter,
/// hidden), W2 (experts, hidden, inter); files that exchange the last two extents of both mean the same
/// numbers. A token's experts have its `k` greatest router numbers; their weights are the softmax of all the
/// token's router numbers, or with normalize_routing_weights of the k. gelu is the one with tanh. swiglu
/// takes pairs (g, l), W1 having 2 inter rows: neighbours (swiglu_fusion 1) or with all g first (2); it gives
/// g sigmoid(activation_alpha g) (l + activation_beta), g clamped to at most swiglu_limit and l to between
/// -swiglu_limit and swiglu_limit. Of experts with equal numbers the later one is taken. As in ONNX Runtime
/// on the CPU, use_sparse_mixer has no effect, and fc3 is refused.
/// op::com_microsoft::MoE{.k = 2}(x, router, w1, none, w2) of (5,8), (5,4), (4,16,8) and (4,8,16) gives
/// (5,8).
struct MoE {
  float activation_alpha = 1;
  float activation_beta = 0;
  Str activation_type = "relu";
  int64_t k = 1;
  int64_t normalize_routing_weights = 0;
  int64_t swiglu_fusion = 0;
  Opt<float> swiglu_limit{};
  int64_t use_sparse_mixer = 0;

  static constexpr Spec spec{.name = "MoE",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"input", "T"},
                                        {"router_probs", "T"},
                                        {"fc1_experts_weights", "T"},
                                        {"fc1_experts_bias", "T", optional},
                                        {"fc2_experts_weights", "T"},
                                        {"fc2_experts_bias", "T", optional},
                                        {"fc3_experts_weights", "T", optional},
                                        {"fc3_experts_bias", "T", optional}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::float32 | types::float16 | types::bfloat16}},
                             .workspace = Workspace::unplanned};
  static constexpr Attributes attributes{
      attr("activation_alpha", &MoE::activation_alpha),
      attr("activation_beta", &MoE::activation_beta),
      attr("activation_type", &MoE::activation_type),
      attr("k", &MoE::k),
      attr("normalize_routing_weights", &MoE::normalize_routing_weights).flag(),
      attr("swiglu_fusion", &MoE::swiglu_fusion),
      attr("swiglu_limit", &MoE::swiglu_limit),
      attr("use_sparse_mixer", &MoE::use_sparse_mixer).flag()};

  constexpr void infer(Infer& i) const {
    if (!activation().check(i, {1, 2})) return;
    if (use_sparse_mixer != 0 && k != 2) return i.fail("use_sparse_mixer needs k 2, not ", k);
    if (i.has(6) || i.has(7)) return i.fail("fc3_experts_weights and fc3_experts_bias are not supported");
    infer_experts(i, operands, activation().gated(), k);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> router, TensorView<const T> w1,
               TensorView<const T> b1, TensorView<const T> w2, TensorView<const T> b2, TensorView<const T>,
               TensorView<const T>, TensorView<T> y) const {
    if (y.empty()) return;
    Scratch scratch;
    const int64_t experts = router.extent(1), tokens = router.extent(0), hidden = x.extent(x.rank() - 1),
                  rows = w1.size() / (experts * hidden), inter = w2.size() / (experts * hidden);
    auto* weights = scratch.take<float>(tokens * experts);
    auto* chosen = scratch.take<bool>(tokens * experts);
    const float* scores = widen(scratch, router.data(), router.size());
    for (int64_t at = 0; at < tokens * experts; at += experts) {
      choose_experts(scores + at, experts, k, chosen + at);
      expert_weights(scores + at, chosen + at, experts, normalize_routing_weights != 0, weights + at);
    }
    float* sums = wide_result(scratch, y.data(), y.size());
    mix_experts({tokens, experts, hidden, rows, inter, chosen, weights}, activation(),
                widen(scratch, x.data(), x.size()), sums, layer(w1, b1, rows, hidden),
                layer(w2, b2, hidden, inter));
    narrow(sums, y.data(), y.size());
  }
  /// Over tokens, and the numbers between the layers of each expert, with pairs (g, l) as one.
  template <class L>
  void loops(L& l) const {
    add_token_loops(l, {1});
    const Dims &x = l.dims(0), &w1 = l.dims(2), &w2 = l.dims(4);
    if (!x.ranked() || w1.rank() != 3 || w2.rank() != 3) return;
    const Dim hidden = x[x.rank() - 1];
    if (!w1[2].same(hidden) || !w2[1].same(hidden)) return;
    const int64_t stretches = activation().gated() && swiglu_fusion == 2 ? 2 : 1;
    l.over({{2, 1, stretches}, {3, 1, stretches}, {4, 2}}, {}, w2[2]).once = {5};
  }
  template <class L>
  double multiplications(const L& l) const {
    return expert_multiplications(l, operands, k);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  static constexpr ExpertOperands operands{.w1 = 2, .b1 = 3, .w2 = 4, .b2 = 5, .exchanged = true};

  constexpr ExpertActivation activation() const {
    return {activation_type, activation_alpha, activation_beta, swiglu_fusion, swiglu_limit};
  }

  /// y (m, rows) = x (m, columns) w^T + bias, of the expert's part of w, whose numbers are (experts, rows,
  /// columns), and bias.
  template <class T>
  static auto layer(TensorView<const T> w, TensorView<const T> bias, int64_t rows, int64_t columns) {
    return [=](Scratch& scratch, int64_t expert, const float* x, int64_t m, float* y) {
      kernels::GemmArgs<float> g;
      g.m = m, g.n = rows, g.k = columns;
      g.a = x, g.a_row = g.k;
      g.b = widen(scratch, w.data() + expert * g.n * g.k, g.n * g.k), g.b_row = 1, g.b_col = g.k;
      g.c = y, g.c_row = g.n;
      if (bias) g.col_bias = widen(scratch, bias.data() + expert * g.n, g.n);
      kernels::gemm(g);
    };
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::MoE)
