// QMoE: MoE whose weights are integers of few bits.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QMoE
#pragma once

#include "tenon/op/families/experts.hpp"
#include "tenon/op/families/packed_experts.hpp"
#include "tenon/op/framework/call.hpp"
#include "tenon/op/framework/registry.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// MoE with weights (code - zero point) * scale of expert_weight_bits bits each, the first code of a byte in
/// its lowest bits: W1 is (experts, inter, hidden * bits / 8) bytes, W2 (experts, hidden, inter * bits / 8).
/// A row has one scale, or with block_size each block of a row has one: scales (experts, rows, blocks). Zero
/// points are packed likewise, (experts, rows * bits / 8) or (experts, rows, blocks * bits / 8); left out,
/// they are 2^(bits - 1). If a block holds a row of W1, rows of both have one scale. A token's k experts have
/// its greatest router_probs. Their weights are the softmax of these alone, or the experts' router_weights,
/// divided by their sum with normalize_routing_weights; experts of weights up to 1e-8 are left out. swiglu
/// takes neighbours (swiglu_fusion 1). Constant weights are packed once (prepare_models). accuracy_level
/// permits less accurate products, which are not used; fc3
/// and floats of eight or four bits, whose scales would be further operands, are refused. As in ONNX Runtime
/// on the CPU, use_sparse_mixer has no effect. op::com_microsoft::QMoE{.expert_weight_bits = 8}(x, router,
/// w1, scales1, none, w2, scales2) of (5,8), (5,4), (4,16,8), (4,16), (4,8,16) and (4,8) gives (5,8).
struct QMoE {
  int64_t accuracy_level = 0;
  float activation_alpha = 1;
  float activation_beta = 0;
  Str activation_type = "relu";
  int64_t block_size = 0;  ///< 0: one block is a row
  int64_t expert_weight_bits = 4;
  int64_t k = 1;
  int64_t normalize_routing_weights = 0;
  Str quant_type = "int";  ///< only int
  int64_t swiglu_fusion = 0;
  Opt<float> swiglu_limit{};
  int64_t use_sparse_mixer = 0;
  int64_t weights_prepacked = -1;  ///< -1 and 0: not; 1 is a layout of one graphics processor

  static constexpr TypeSet floats = types::float32 | types::float16 | types::bfloat16;
  static constexpr Spec spec{.name = "QMoE",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"input", "T"},
                                        {"router_probs", "T"},
                                        {"fc1_experts_weights", "T1"},
                                        {"fc1_scales", "T2", optional},
                                        {"fc1_experts_bias", "T", optional},
                                        {"fc2_experts_weights", "T1"},
                                        {"fc2_scales", "T2", optional},
                                        {"fc2_experts_bias", "T", optional},
                                        {"fc3_experts_weights", "T1", optional},
                                        {"fc3_scales", "T2", optional},
                                        {"fc3_experts_bias", "T", optional},
                                        {"fc1_zero_points", "T1", optional},
                                        {"fc2_zero_points", "T1", optional},
                                        {"fc3_zero_points", "T1", optional},
                                        {"router_weights", "T", optional}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", floats}, {"T2", floats}, {"T1", types::uint8}},
                             .workspace = Workspace::unplanned};
  static constexpr Attributes attributes{
      attr("accuracy_level", &QMoE::accuracy_level),
      attr("activation_alpha", &QMoE::activation_alpha),
      attr("activation_beta", &QMoE::activation_beta),
      attr("activation_type", &QMoE::activation_type),
      attr("block_size", &QMoE::block_size),
      attr("expert_weight_bits", &QMoE::expert_weight_bits),
      attr("k", &QMoE::k),
      attr("normalize_routing_weights", &QMoE::normalize_routing_weights).flag(),
      attr("quant_type", &QMoE::quant_type),
      attr("swiglu_fusion", &QMoE::swiglu_fusion),
      attr("swiglu_limit", &QMoE::swiglu_limit),
      attr("use_sparse_mixer", &QMoE::use_sparse_mixer).flag(),
      attr("weights_prepacked", &QMoE::weights_prepacked)};

  constexpr void infer(Infer& i) const {
    if (!activation().check(i, {1}) ||
        !i.expect_choice("expert_weight_bits", expert_weight_bits, {2, 4, 8}) ||
        !i.expect_choice("quant_type", quant_type, {"int"}) ||
        !i.expect_choice("weights_prepacked", weights_prepacked, {-1, 0}) ||
        (block_size != 0 && !expect_block_size(i, block_size)))
      return;
    for (const int input : {8, 9, 10, 13})
      if (i.has(input))
        return i.fail(i.name(input), " is not supported: the CPU has no gate in a third layer");
    for (const int input : {3, 6})
      if (!i.has(input)) return i.fail(i.name(input), " is missing, which quant_type int needs");
    if (use_sparse_mixer != 0 && k != 2) return i.fail("use_sparse_mixer needs k 2, not ", k);
    const int64_t each = 8 / expert_weight_bits;
    const ExpertExtents e = infer_experts(i, operands(), activation().gated(), k);
    if (i.failed() || (i.ranked(1) && !i.expect_extents(14, {i.dims(1)[0], e.experts}))) return;
    if (block_size != 0 && !e.hidden.known()) return;
    const bool blocks = block_size != 0 && divides(e.hidden.value());
    check_expert_scales(i, 3, 11, {e.experts, e.rows, e.hidden}, block_size, blocks, each);
    check_expert_scales(i, 6, 12, {e.experts, e.hidden, e.inter}, block_size, blocks, each);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> router, TensorView<const uint8_t> w1,
               AnyView scales1, TensorView<const T> b1, TensorView<const uint8_t> w2, AnyView scales2,
               TensorView<const T> b2, TensorView<const uint8_t>, AnyView, TensorView<const T>,
               TensorView<const uint8_t> zeros1, TensorView<const uint8_t> zeros2, TensorView<const uint8_t>,
               TensorView<const T> router_weights, TensorView<T> y) const {
    Scratch scratch;
    const int64_t hidden = x.extent(x.rank() - 1), inter = w2.extent(2) * (8 / expert_weight_bits),
                  block = divides(hidden) ? block_size : 0;
    const StoredExperts first = matrices(scratch, w1, scales1, zeros1, hidden, block),
                        second = matrices(scratch, w2, scales2, zeros2, inter, block);
    mix(x, router, router_weights, {w1.extent(1), inter}, layer(first, b1), layer(second, b2), y);
  }
  /// The experts as PackedExperts, if all that describes them is constant.
  template <uint32_t Filter>
  Prepared prepare(const KnownOperands& in) const;
  /// As of MoE; bytes of codes and of zero points, and blocks, stay together.
  template <class L>
  void loops(L& l) const {
    add_token_loops(l, {1, 14});
    const Dims &x = l.dims(0), &w2 = l.dims(5);
    if (!x.ranked() || w2.rank() != 3 || !x[x.rank() - 1].known()) return;
    const bool blocks = divides(x[x.rank() - 1].value());
    const int64_t each = 8 / expert_weight_bits;
    const Dim step = !blocks ? Dim(1) : Dim(block_size / each * (l.has(12) ? each : 1));  // bytes
    if (!(w2[2] % step).is(0)) return;
    const int of_blocks = blocks ? 2 : -1;
    l.over({{2, 1}, {3, 1}, {4, 1}, {11, 1}, {5, 2}, {6, of_blocks}, {12, of_blocks}}, {}, w2[2] / step)
        .once = {7};
  }
  template <class L>
  double multiplications(const L& l) const {
    return expert_multiplications(l, operands(), k);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  constexpr ExpertOperands operands() const {
    return {.w1 = 2, .b1 = 4, .w2 = 5, .b2 = 7, .each = 8 / expert_weight_bits};
  }
  static constexpr float least_weight = 1e-8f;  // of an expert that takes part

  /// The weights of a layer as they are stored.
  struct StoredExperts {
    PackedCodes codes, zeros;  // codes of (experts, rows, columns); zeros.bytes is nullptr: the middle
    const float* scales;
    int64_t rows, columns;
    int64_t block;  // 0: a row

    /// Row r of an expert as numbers.
    void row(int64_t expert, int64_t r, float* to) const {
      const int64_t at = expert * rows + r, width = block == 0 ? std::max<int64_t>(columns, 1) : block,
                    blocks = (columns + width - 1) / width;
      for (int64_t b = 0; b < blocks; ++b) {
        const float scale = scales[at * blocks + b];
        const int zero = zeros.bytes == nullptr ? 1 << (codes.bits - 1)
                         : block == 0           ? zeros.of(expert, rows, r)
                                                : zeros.of(at, blocks, b);
        const int64_t end = std::min(columns, (b + 1) * width);
        for (int64_t c = b * width; c < end; ++c)
          to[c] = static_cast<float>(codes.of(at, columns, c) - zero) * scale;
      }
    }
  };

  constexpr ExpertActivation activation() const {
    return {activation_type, activation_alpha, activation_beta, swiglu_fusion, swiglu_limit};
  }

  /// Whether rows have several scales. As in ONNX Runtime, W2's rows have them only if W1's do.
  constexpr bool divides(int64_t hidden) const { return block_size != 0 && hidden > block_size; }

  friend struct PackedExperts;

  struct LayerExtents {
    int64_t rows, inter;  // the first layer gives `rows` numbers, the second takes `inter`
  };
  /// y by layers that multiply some rows by an expert's matrix.
  template <class T, class First, class Second>
  void mix(TensorView<const T> x, TensorView<const T> router, TensorView<const T> router_weights,
           LayerExtents e, const First& first, const Second& second, TensorView<T> y) const {
    if (y.empty()) return;
    Scratch scratch;
    const int64_t experts = router.extent(1), tokens = router.extent(0), hidden = x.extent(x.rank() - 1);
    auto* weights = scratch.take<float>(tokens * experts);
    auto* chosen = scratch.take<bool>(tokens * experts);
    const float* scores = widen(scratch, router.data(), router.size());
    const float* given = widen(scratch, router_weights.data(), router_weights.size());
    for (int64_t at = 0; at < tokens * experts; at += experts)
      route(scores + at, given == nullptr ? nullptr : given + at, experts, chosen + at, weights + at);
    float* sums = wide_result(scratch, y.data(), y.size());
    mix_experts({tokens, experts, hidden, e.rows, e.inter, chosen, weights}, activation(),
                widen(scratch, x.data(), x.size()), sums, first, second);
    narrow(sums, y.data(), y.size());
  }

  void route(const float* scores, const float* given, int64_t experts, bool* chosen, float* weights) const {
    choose_experts(scores, experts, k, chosen);
    if (given == nullptr) {
      expert_weights(scores, chosen, experts, true, weights);
    } else {
      float sum = 0;
      for (int64_t e = 0; e < experts; ++e)
        if (chosen[e]) sum += given[e];
      const float factor = normalize_routing_weights == 0 ? 1 : sum == 0 ? 0 : 1 / sum;
      for (int64_t e = 0; e < experts; ++e) weights[e] = given[e] * factor;
    }
    for (int64_t e = 0; e < experts; ++e) chosen[e] = chosen[e] && weights[e] > least_weight;
  }

  StoredExperts matrices(Scratch& scratch, TensorView<const uint8_t> w, AnyView scales,
                         TensorView<const uint8_t> zeros, int64_t columns, int64_t block) const {
    return {{w.data(), expert_weight_bits},
            {zeros.data(), expert_weight_bits},
            numbers<float>(scratch, scales),
            w.extent(1),
            columns,
            block};
  }

  /// y (m, rows) = x (m, columns) w^T + bias of an expert.
  template <class T>
  static auto layer(const StoredExperts& w, TensorView<const T> bias) {
    return [&w, bias](Scratch& scratch, int64_t expert, const float* x, int64_t m, float* y) {
      const float* addends = bias ? widen(scratch, bias.data() + expert * w.rows, w.rows) : nullptr;
      // Rows of W stay in a cache between being written and read.
      constexpr int64_t part = 16;
      parallel_for((w.rows - 1) / part + 1, 1, [&](int64_t begin, int64_t end) {
        Scratch inner;
        float* numbers = inner.take<float>(part * w.columns);
        for (int64_t at = begin * part; at < std::min(end * part, w.rows); at += part) {
          kernels::GemmArgs<float> g;
          g.m = m, g.n = std::min(part, w.rows - at), g.k = w.columns;
          for (int64_t r = 0; r < g.n; ++r) w.row(expert, at + r, numbers + r * w.columns);
          g.a = x, g.a_row = g.k;
          g.b = numbers, g.b_row = 1, g.b_col = g.k;
          g.c = y + at, g.c_row = w.rows;
          if (addends != nullptr) g.col_bias = addends + at;
          kernels::gemm(g);
        }
      });
    };
  }
};

/// A QMoE whose matrices are laid out for products with integers (kernels/gemm/narrow_matrix.hpp), so that a
/// run reads them as they are stored.
struct PackedExperts {
  QMoE op{};
  DType element = DType::undefined;  ///< of input
  int64_t experts = 0, hidden = 0;
  PackedExpertLayer first{}, second{};

  static constexpr Spec spec = [] {
    Spec s =
        own_spec("PackedExperts", {{"input", "T"}, {"router_probs", "T"}, {"router_weights", "T", optional}},
                 {{"output", "T"}}, {{"T", QMoE::floats}});
    s.workspace = QMoE::spec.workspace;
    return s;
  }();

  constexpr void infer(Infer& i) const {
    if (i.dtype(0) != element) return i.fail_type("input is ", i.dtype(0), ", the weights are for ", element);
    const Dims& x = i.dims(0);
    if (x.ranked()) {
      if (x.rank() != 2 && x.rank() != 3) return i.fail("input: rank ", x.rank(), ", expected 2 or 3");
      if (x[x.rank() - 1].differs(hidden)) return i.fail("input: ", x, " does not end with ", hidden);
    }
    const Dim tokens = x.ranked() ? x.product(0, x.rank() - 1) : Dim();
    if (i.expect_extents(1, {tokens, experts}) && i.expect_extents(2, {tokens, experts})) i.out(0, x);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> router, TensorView<const T> router_weights,
               TensorView<T> y) const {
    op.mix(x, router, router_weights, {first.n, second.k}, first.product(), second.product(), y);
  }
};

template <uint32_t Filter>
Prepared QMoE::prepare(const KnownOperands& in) const {
  const AnyTensor *w1 = in.constant(2), *scales1 = in.constant(3), *w2 = in.constant(5),
                  *scales2 = in.constant(6);
  if (w1 == nullptr || scales1 == nullptr || w2 == nullptr || scales2 == nullptr) return {};
  for (const int k : {4, 7, 11, 12})
    if (in.has(k) && in.constant(k) == nullptr) return {};
  const int64_t each = 8 / expert_weight_bits, hidden = w1->extents()[2] * each;
  PackedExperts p{
      .op = *this, .element = in.infos[0].type.element, .experts = w1->extents()[0], .hidden = hidden};
  // The rule compares the constants with each other where input and router_probs say nothing.
  std::vector<Info> infos(in.infos.begin(), in.infos.end()), out(1);
  infos[0].dims = {Dim(), hidden}, infos[1].dims = {Dim(), p.experts};
  if (!tenon::op::infer(*this, spec.latest(), infos, out).empty()) return {};
  const int64_t block = divides(hidden) ? block_size : 0;
  p.first =
      PackedExpertLayer::packed(*w1, *scales1, in.constant(11), in.constant(4), expert_weight_bits, block);
  p.second =
      PackedExpertLayer::packed(*w2, *scales2, in.constant(12), in.constant(7), expert_weight_bits, block);
  if (p.first.experts.empty() || p.second.experts.empty()) return {};
  return {AnyOperator::make<PackedExperts, Filter>(p), {0, 1, 14}};
}

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::QMoE)
