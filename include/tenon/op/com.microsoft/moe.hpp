// MoE: each token is processed by the few experts that its router numbers choose.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MoE
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/kernels/gemm/gemm.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// output = sum over a token's experts e of weight[e] * (activation(x W1[e]^T + b1[e]) W2[e]^T + b2[e]).
/// input is (tokens, hidden) or (batch, steps, hidden), router_probs (tokens, experts), W1 (experts, inter,
/// hidden), W2 (experts, hidden, inter). A token's experts have its `k` greatest router numbers; their
/// weights are the softmax of all the token's router numbers, or with normalize_routing_weights of the
/// k. gelu is the one with tanh. swiglu takes pairs (g, l), W1 having 2 inter rows: neighbours (swiglu_fusion
/// 1) or with all g first (2); it gives g sigmoid(activation_alpha g) (l + activation_beta), g clamped to at
/// most swiglu_limit and l to between -swiglu_limit and swiglu_limit. Of experts with equal numbers the
/// later one is taken. fc3 and the sparse mixer are refused, as in ONNX Runtime on the CPU.
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
  int64_t use_sparse_mixer = 0;  ///< only 0

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
      attr("use_sparse_mixer", &MoE::use_sparse_mixer)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("activation_type", activation_type,
                         {"relu", "gelu", "silu", "swiglu", "identity"}) ||
        !i.expect_choice("swiglu_fusion", swiglu_fusion, {0, 1, 2}) ||
        !i.expect_choice("use_sparse_mixer", use_sparse_mixer, {0}) || !i.expect_at_least("k", k, 1))
      return;
    if (swiglu_limit && !(*swiglu_limit >= 0)) return i.fail("swiglu_limit is negative");
    if (gated() && swiglu_fusion == 0) return i.fail("swiglu needs swiglu_fusion 1 or 2");
    if (i.has(6) || i.has(7)) return i.fail("fc3_experts_weights and fc3_experts_bias are not supported");
    const Dims& x = i.dims(0);
    if (x.ranked() && x.rank() != 2 && x.rank() != 3)
      return i.fail("input: rank ", x.rank(), ", expected 2 or 3");
    for (int w : {2, 4})
      if (!i.expect_rank(w, 3)) return;
    if (!i.expect_rank(1, 2)) return;
    const Dim hidden = x.ranked() ? x[x.rank() - 1] : Dim(),
              tokens = x.ranked() ? x.product(0, x.rank() - 1) : Dim();
    const Dim experts = i.ranked(1) ? i.dims(1)[1] : Dim(), inter = i.ranked(4) ? i.dims(4)[2] : Dim();
    const Dim rows = gated() ? inter * 2 : inter;
    if (!i.expect_extents(1, {tokens, experts}) || !i.expect_extents(2, {experts, rows, hidden}) ||
        !i.expect_extents(3, {experts, rows}) || !i.expect_extents(4, {experts, hidden, inter}) ||
        !i.expect_extents(5, {experts, hidden}))
      return;
    if (experts.below(k)) return i.fail("k: ", k, ", but there are ", experts, " experts");
    i.out(0, x);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> router, TensorView<const T> w1,
               TensorView<const T> b1, TensorView<const T> w2, TensorView<const T> b2, TensorView<const T>,
               TensorView<const T>, TensorView<T> y) const {
    if (y.empty()) return;
    Scratch scratch;
    const int64_t experts = router.extent(1), tokens = router.extent(0), hidden = x.extent(x.rank() - 1),
                  rows = w1.extent(1), inter = w2.extent(2);
    const float* numbers = widen(scratch, x.data(), x.size());
    float* sums = wide_result(scratch, y.data(), y.size());
    std::fill_n(sums, y.size(), 0.0f);
    auto* weights = scratch.take<float>(tokens * experts);  // 0: not of this token
    auto* chosen = scratch.take<bool>(tokens * experts);
    const float* scores = widen(scratch, router.data(), router.size());
    for (int64_t t = 0; t < tokens; ++t)
      choose(scores + t * experts, experts, weights + t * experts, chosen + t * experts);

    auto* of_expert = scratch.take<int64_t>(tokens);
    for (int64_t e = 0; e < experts; ++e) {
      int64_t count = 0;
      for (int64_t t = 0; t < tokens; ++t)
        if (chosen[t * experts + e]) of_expert[count++] = t;
      if (count == 0) continue;
      Scratch inner;
      float *in = inner.take<float>(count * hidden), *middle = inner.take<float>(count * rows),
            *out = inner.take<float>(count * hidden);
      for (int64_t r = 0; r < count; ++r)
        std::copy_n(numbers + of_expert[r] * hidden, hidden, in + r * hidden);
      multiply(inner, in, count, hidden, w1.data() + e * rows * hidden, b1 ? b1.data() + e * rows : nullptr,
               rows, middle);
      activate(middle, count, inter);
      multiply(inner, middle, count, inter, w2.data() + e * hidden * inter,
               b2 ? b2.data() + e * hidden : nullptr, hidden, out);
      for (int64_t r = 0; r < count; ++r) {
        const float weight = weights[of_expert[r] * experts + e];
        for (int64_t c = 0; c < hidden; ++c) sums[of_expert[r] * hidden + c] += weight * out[r * hidden + c];
      }
    }
    narrow(sums, y.data(), y.size());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  constexpr bool gated() const { return activation_type == "swiglu"; }

  /// The experts of a token and their weights; of equal scores the later one's is chosen.
  void choose(const float* scores, int64_t experts, float* weights, bool* chosen) const {
    std::fill_n(chosen, experts, false);
    for (int64_t n = 0; n < k; ++n) {
      int64_t best = -1;
      for (int64_t e = 0; e < experts; ++e)
        if (!chosen[e] && (best < 0 || scores[e] >= scores[best])) best = e;
      chosen[best] = true;
    }
    const float greatest = *std::max_element(scores, scores + experts);
    float sum = 0;
    for (int64_t e = 0; e < experts; ++e) {
      weights[e] = std::exp(scores[e] - greatest);
      if (chosen[e] || normalize_routing_weights == 0) sum += weights[e];
    }
    for (int64_t e = 0; e < experts; ++e) weights[e] /= sum;
  }

  /// y (m, n) = x (m, depth) w (n, depth)^T + bias.
  template <class T>
  static void multiply(Scratch& scratch, const float* x, int64_t m, int64_t depth, const T* w, const T* bias,
                       int64_t n, float* y) {
    kernels::GemmArgs<float> g;
    g.m = m, g.n = n, g.k = depth;
    g.a = x, g.a_row = depth;
    g.b = widen(scratch, w, n * depth), g.b_row = 1, g.b_col = depth;
    g.c = y, g.c_row = n;
    if (bias != nullptr) g.col_bias = widen(scratch, bias, n);
    kernels::gemm(g);
  }

  /// Activates rows in place. Rows of pairs become half as long.
  void activate(float* x, int64_t rows, int64_t inter) const {
    const auto silu = [](float v, float alpha) { return v / (1 + std::exp(-alpha * v)); };
    if (gated()) {
      const float limit = swiglu_limit ? *swiglu_limit : std::numeric_limits<float>::infinity();
      for (int64_t r = 0; r < rows; ++r) {
        Scratch scratch;
        float* pairs = scratch.take<float>(2 * inter);
        std::copy_n(x + r * 2 * inter, 2 * inter, pairs);
        for (int64_t c = 0; c < inter; ++c) {
          const float g = std::min(pairs[swiglu_fusion == 1 ? 2 * c : c], limit),
                      l = std::clamp(pairs[swiglu_fusion == 1 ? 2 * c + 1 : inter + c], -limit, limit);
          x[r * inter + c] = silu(g, activation_alpha) * (l + activation_beta);
        }
      }
      return;
    }
    if (activation_type == "identity") return;
    const int64_t n = rows * inter;
    for (int64_t c = 0; c < n; ++c) {
      const float v = x[c];
      if (activation_type == "relu") x[c] = v < 0 ? 0 : v;
      else if (activation_type == "silu") x[c] = silu(v, 1);
      else x[c] = 0.5f * v * (1 + std::tanh(0.7978845608028654f * (v + 0.044715f * v * v * v)));
    }
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::MoE)
