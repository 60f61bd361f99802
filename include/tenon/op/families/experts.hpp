// Mixtures of experts: the choice of a token's experts and the two layers of each.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/kernels/gemm/gemm.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/framework/infer.hpp"

namespace tenon::TENON_ABI::op {

/// What follows an expert's first layer. swiglu takes pairs (g, l), neighbours (fusion 1) or with all g first
/// (2), and gives g sigmoid(alpha g) (l + beta), g clamped to at most the limit and l to between -limit and
/// limit.
struct ExpertActivation {
  Str type = "relu";
  float alpha = 1, beta = 0;
  int64_t fusion = 0;
  Opt<float> limit{};

  constexpr bool gated() const { return type == "swiglu"; }

  constexpr bool check(Infer& i, std::initializer_list<int64_t> fusions) const {
    if (!i.expect_choice("activation_type", type, {"relu", "gelu", "silu", "swiglu", "identity"}))
      return false;
    if (!i.expect_choice("swiglu_fusion", fusion, {0, 1, 2})) return false;
    if (limit && !(*limit >= 0)) i.fail("swiglu_limit is negative");
    else if (gated() && std::find(fusions.begin(), fusions.end(), fusion) == fusions.end())
      i.fail(fusions.size() == 1 ? "swiglu needs swiglu_fusion 1" : "swiglu needs swiglu_fusion 1 or 2");
    return !i.failed();
  }
  /// Activates rows in place. Rows of pairs become half as long.
  void apply(float* x, int64_t rows, int64_t inter) const {
    const auto silu = [](float v, float factor) { return v / (1 + std::exp(-factor * v)); };
    if (gated()) {
      const float most = limit ? *limit : std::numeric_limits<float>::infinity();
      Scratch scratch;
      float* pairs = scratch.take<float>(2 * inter);
      for (int64_t r = 0; r < rows; ++r) {
        std::copy_n(x + r * 2 * inter, 2 * inter, pairs);
        for (int64_t c = 0; c < inter; ++c) {
          const float g = std::min(pairs[fusion == 1 ? 2 * c : c], most),
                      l = std::clamp(pairs[fusion == 1 ? 2 * c + 1 : inter + c], -most, most);
          x[r * inter + c] = silu(g, alpha) * (l + beta);
        }
      }
      return;
    }
    if (type == "identity") return;
    const int64_t n = rows * inter;
    for (int64_t c = 0; c < n; ++c) {
      const float v = x[c];
      if (type == "relu") x[c] = v < 0 ? 0 : v;
      else if (type == "silu") x[c] = silu(v, 1);
      else x[c] = 0.5f * v * (1 + std::tanh(0.7978845608028654f * (v + 0.044715f * v * v * v)));
    }
  }
};

/// The operands of an expert's layers, by their numbers: weights (experts, rows, columns / `each`), of which
/// a byte holds `each`, and biases (experts, rows).
struct ExpertOperands {
  int w1, b1, w2, b2;
  int64_t each = 1;
  bool exchanged = false;  ///< weights may be stated as (experts, columns, rows) of the same numbers
};

struct ExpertExtents {
  Dim experts, hidden, inter, rows;  ///< the first layer gives `rows` numbers, the second takes `inter`
};

/// The rule of input, number 0, router_probs, number 1, and the layers; sets the result.
constexpr ExpertExtents infer_experts(Infer& i, const ExpertOperands& o, bool gated, int64_t k) {
  const Dims& x = i.dims(0);
  if (!i.expect_at_least("k", k, 1)) return {};
  if (x.ranked() && x.rank() != 2 && x.rank() != 3) {
    i.fail("input: rank ", x.rank(), ", expected 2 or 3");
    return {};
  }
  if (!i.expect_rank(o.w1, 3) || !i.expect_rank(o.w2, 3) || !i.expect_rank(1, 2)) return {};
  const Dim tokens = x.ranked() ? x.product(0, x.rank() - 1) : Dim();
  ExpertExtents e;
  e.hidden = x.ranked() ? x[x.rank() - 1] : Dim();
  e.experts = i.ranked(1) ? i.dims(1)[1] : Dim();
  const Dims w1 = i.ranked(o.w1) ? i.dims(o.w1) : Dims::of_rank(3),
             w2 = i.ranked(o.w2) ? i.dims(o.w2) : Dims::of_rank(3);
  // Which form the weights have, the input tells.
  if (o.exchanged && !e.hidden.known()) {
    if (i.expect_extents(1, {tokens, e.experts}) && i.expect_extents(o.w1, {e.experts, Dim(), Dim()}) &&
        i.expect_extents(o.b1, {e.experts, Dim()}) && i.expect_extents(o.w2, {e.experts, Dim(), Dim()}) &&
        i.expect_extents(o.b2, {e.experts, Dim()}))
      i.out(0, x);
    return e;
  }
  const bool square = gated && !w2[1].differs(e.hidden) && w1[2].same(e.hidden * 2);
  const bool exchanged = o.exchanged && (w2[1].differs(e.hidden) || square) && w2[2].same(e.hidden);
  const Dim packed = w2[exchanged ? 1 : 2];
  e.inter = packed * o.each;
  e.rows = gated ? e.inter * 2 : e.inter;
  if ((e.hidden % o.each).differs(0)) {
    i.fail("input: ", e.hidden, " numbers are not whole bytes of weights");
    return {};
  }
  const Dim columns = e.hidden / o.each;
  if (!i.expect_extents(1, {tokens, e.experts}) ||
      !i.expect_extents(o.w1,
                        exchanged ? Dims{e.experts, columns, e.rows} : Dims{e.experts, e.rows, columns}) ||
      !i.expect_extents(o.b1, {e.experts, e.rows}) ||
      !i.expect_extents(o.w2,
                        exchanged ? Dims{e.experts, packed, e.hidden} : Dims{e.experts, e.hidden, packed}) ||
      !i.expect_extents(o.b2, {e.experts, e.hidden}))
    return {};
  if (e.experts.below(k)) i.fail("k: ", k, ", but there are ", e.experts, " experts");
  else i.out(0, x);
  return e;
}

/// The loops over the axes of input but the last one, the tokens. Router numbers are operands `of_tokens`.
template <class L>
void add_token_loops(L& l, std::initializer_list<int> of_tokens) {
  const Dims& x = l.dims(0);
  for (int axis = 0; axis < x.rank() - 1; ++axis) {
    if (axis == 1 && !x[0].known()) return;
    typename L::Axes in{{0, axis}};
    for (const int k : of_tokens) in.push_back({k, 0, axis == 0 ? 1 : x[0].value()});
    l.over(std::move(in), {{0, axis}});
  }
}

/// The multiplications of both layers for the k experts of each token.
template <class L>
double expert_multiplications(const L& l, const ExpertOperands& o, int64_t k) {
  const double rows = l.extent(l.dims(o.w1), 1), inter = l.extent(l.dims(o.w2), 2);
  return l.elements(l.dims(0)) * static_cast<double>(k) * (rows + inter * static_cast<double>(o.each));
}

/// Marks the k experts of the greatest scores; of equal ones, the later expert.
inline void choose_experts(const float* scores, int64_t experts, int64_t k, bool* chosen) {
  std::fill_n(chosen, experts, false);
  for (int64_t n = 0; n < k; ++n) {
    int64_t best = -1;
    for (int64_t e = 0; e < experts; ++e)
      if (!chosen[e] && (best < 0 || scores[e] >= scores[best])) best = e;
    chosen[best] = true;
  }
}

/// exp(score) of each expert over their sum, which is over the chosen experts or over all.
inline void expert_weights(const float* scores, const bool* chosen, int64_t experts, bool of_chosen,
                           float* weights) {
  const float greatest = *std::max_element(scores, scores + experts);
  float sum = 0;
  for (int64_t e = 0; e < experts; ++e) {
    weights[e] = std::exp(scores[e] - greatest);
    if (chosen[e] || !of_chosen) sum += weights[e];
  }
  for (int64_t e = 0; e < experts; ++e) weights[e] /= sum;
}

/// The extents of a mixture, and what is chosen of it: of (tokens, experts).
struct ExpertMixture {
  int64_t tokens, experts, hidden, rows, inter;
  const bool* chosen;
  const float* weights;
};

/// y (tokens, hidden) = the sum over a token's experts e of its weight times second(activation(first(x))).
/// first(scratch, e, x, count, y) multiplies `count` rows by the expert's first matrix, second likewise.
template <class First, class Second>
void mix_experts(const ExpertMixture& m, const ExpertActivation& activation, const float* x, float* y,
                 const First& first, const Second& second) {
  std::fill_n(y, m.tokens * m.hidden, 0.0f);
  Scratch scratch;
  auto* of_expert = scratch.take<int64_t>(m.tokens);
  for (int64_t e = 0; e < m.experts; ++e) {
    int64_t count = 0;
    for (int64_t t = 0; t < m.tokens; ++t)
      if (m.chosen[t * m.experts + e]) of_expert[count++] = t;
    if (count == 0) continue;
    Scratch inner;
    float *in = inner.take<float>(count * m.hidden), *middle = inner.take<float>(count * m.rows),
          *out = inner.take<float>(count * m.hidden);
    for (int64_t r = 0; r < count; ++r) std::copy_n(x + of_expert[r] * m.hidden, m.hidden, in + r * m.hidden);
    first(inner, e, in, count, middle);
    activation.apply(middle, count, m.inter);
    second(inner, e, middle, count, out);
    for (int64_t r = 0; r < count; ++r) {
      const float weight = m.weights[of_expert[r] * m.experts + e];
      float* sum = y + of_expert[r] * m.hidden;
      for (int64_t c = 0; c < m.hidden; ++c) sum[c] += weight * out[r * m.hidden + c];
    }
  }
}

}  // namespace tenon::TENON_ABI::op
