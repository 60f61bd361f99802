// FlexAttention: attention whose scores and weights graphs may change.
// onnx.ai/onnx/operators/onnx_aionnxpreview_FlexAttention.html
#pragma once

#include "tenon/op/families/attention.hpp"
#include "tenon/op/families/control_flow.hpp"
#include "tenon/op/families/wide.hpp"

namespace tenon::TENON_ABI::op {

/// Y = prob_mod(softmax(score_mod(Q K^T * scale))) V for each head; scale is 1 / sqrt(head size) by default.
/// Q is (batch, heads, queries, size), K and V (batch, KV heads, keys, size or value size); each KV head
/// serves heads / KV heads query heads in their order. The graphs turn a tensor (batch, heads, queries, keys)
/// into one of the same type and extents; its type is the softmax's: softmax_precision, or else T, but float
/// instead of narrower types. op::FlexAttention{}(q, k, v) of (2,9,4,8), (2,3,6,8) and (2,3,6,5) gives
/// (2,9,4,5).
struct FlexAttention {
  BodyRef prob_mod{};
  Opt<float> scale{};
  BodyRef score_mod{};
  Opt<int64_t> softmax_precision{};

  static constexpr Spec spec{.name = "FlexAttention",
                             .domain = "ai.onnx.preview",
                             .since = {1},
                             .inputs = {{"Q", "T1"}, {"K", "T1"}, {"V", "T1"}},
                             .outputs = {{"Y", "T1"}},
                             .types = {{"T1", types::floats_bf16}}};
  static constexpr Attributes attributes{attr("prob_mod", &FlexAttention::prob_mod),
                                         attr("scale", &FlexAttention::scale),
                                         attr("score_mod", &FlexAttention::score_mod),
                                         attr("softmax_precision", &FlexAttention::softmax_precision)};

  void infer(Infer& i) const {
    if (!expect_softmax_precision(i, softmax_precision) || !i.expect_rank(0, 4) || !i.expect_rank(1, 4) ||
        !i.expect_rank(2, 4))
      return;
    const AttentionExtents e = infer_attention(i, {}, {});
    if (i.failed()) return;
    i.out(0, {e.batch, e.heads, e.queries, e.value_size});
    if (i.dtype(0) == DType::undefined) return;
    Info scores;
    scores.type = softmax_type(i.dtype(0));
    scores.dims = {e.batch, e.heads, e.queries, e.keys};
    check_mod(i, "score_mod", score_mod, scores);
    check_mod(i, "prob_mod", prob_mod, scores);
  }
  template <class T>
  void compute(Context& c, TensorView<const T> q, TensorView<const T> k, TensorView<const T> v,
               TensorView<T> y) const {
    if (y.empty()) return;
    // Double if the softmax or the operands are.
    if (softmax_type(dtype_of<T>) == DType::float64) attend<double>(c, q, k, v, y);
    else attend<compute_t<T>>(c, q, k, v, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  DType softmax_type(DType t) const {
    return softmax_precision ? dtype_from_onnx(*softmax_precision) : compute_dtype(t);
  }
  /// Refuses a graph whose result differs from `scores` in type or extents.
  static void check_mod(Infer& i, std::string_view name, const BodyRef& mod, const Info& scores) {
    if (!mod || i.failed()) return;
    if (mod->inputs() != 1 || mod->outputs() != 1)
      return i.fail(name, " has ", mod->inputs(), " inputs and ", mod->outputs(),
                    " outputs, expected one each");
    const Info result = infer_body(mod, {&scores, 1})[0];
    if (result.type && result.type.kind != Kind::unknown && !(result.type == scores.type))
      return i.fail_type(name, " changes the type of its operand");
    if (!result.dims.fits(scores.dims)) i.fail(name, " turns ", scores.dims, " into ", result.dims);
  }
  /// The tensor that `mod` makes of `x`.
  static AnyTensor modified(Context& c, std::string_view name, const BodyRef& mod, const AnyTensor& x) {
    const Value in = x;
    const Value out = run_body(spec.name, mod, c, {&in, 1}, 1)[0];
    if (!out.is_tensor() || out.tensor().dtype() != x.dtype() || !(out.tensor().extents() == x.extents()))
      raise(ErrorCode::invalid_model, spec.name, name, " does not keep the type and extents of its operand");
    return out.tensor();
  }

  template <class W, class T>
  void attend(Context& c, TensorView<const T> q, TensorView<const T> k, TensorView<const T> v,
              TensorView<T> y) const {
    const int64_t batch = q.extent(0), heads = q.extent(1), queries = q.extent(2), size = q.extent(3),
                  kv_heads = k.extent(1), keys = k.extent(2), values = v.extent(3), group = heads / kv_heads;
    const double factor = size == 0 ? 1
                          : scale   ? static_cast<double>(*scale)
                                    : 1 / std::sqrt(static_cast<double>(size));
    const DType type = softmax_type(dtype_of<T>);
    if (!score_mod && !prob_mod) {
      kernels::AttentionArgs a;
      a.batch = batch, a.heads = heads, a.kv_heads = kv_heads;
      a.queries = queries, a.size = size, a.value_size = values;
      constexpr DType t = dtype_of<T>;
      a.q = head_rows<const void>(t, q.data(), q.extents(), heads);
      const kernels::AttentionPart part{head_rows<const void>(t, k.data(), k.extents(), kv_heads),
                                        head_rows<const void>(t, v.data(), v.extents(), kv_heads), keys};
      a.parts = {&part, 1};
      a.y = head_rows<void>(t, y.data(), y.extents(), heads);
      a.scale = factor;
      a.softmax_type = type;
      return kernels::attention<W>(a);
    }
    // The graphs need all scores at once.
    Scratch scratch;
    const int64_t box[] = {batch, kv_heads, group};
    const auto batch_of = [&](const int64_t* of_a, const int64_t* of_b, const int64_t* of_c) {
      return kernels::GemmBatch{.rank = 3, .extents = box, .a = of_a, .b = of_b, .c = of_c};
    };
    const int64_t of_scores[] = {heads * queries * keys, group * queries * keys, queries * keys};
    const Extents extents{batch, heads, queries, keys};
    AnyTensor scores = AnyTensor::uninitialized(type, extents, c.allocator());
    {
      const int64_t of_q[] = {heads * queries * size, group * queries * size, queries * size},
                    of_k[] = {kv_heads * keys * size, keys * size, 0};
      kernels::GemmArgs<W> g;
      g.m = queries, g.n = keys, g.k = size;
      g.a = numbers<W>(scratch, q), g.a_row = size;
      g.b = numbers<W>(scratch, k), g.b_row = 1, g.b_col = size;
      W* product =
          type == dtype_of<W> ? static_cast<W*>(scores.out().data()) : scratch.take<W>(scores.size());
      g.c = product, g.c_row = keys;
      g.alpha = static_cast<W>(factor);
      g.batch = batch_of(of_q, of_k, of_scores);
      kernels::gemm(g);
      if (type != dtype_of<W>) kernels::detail::store_row(product, type, scores.out().data(), scores.size());
    }
    AnyTensor weights = scores;
    if (score_mod) {
      scores = modified(c, "score_mod", score_mod, scores);
      weights = AnyTensor::uninitialized(type, extents, c.allocator());
    }
    visit_types(float_types{}, type, [&]<class P>() {
      kernels::softmax(static_cast<const P*>(scores.data()), static_cast<P*>(weights.out().data()),
                       batch * heads * queries, keys, 1);
    });
    if (prob_mod) weights = modified(c, "prob_mod", prob_mod, weights);
    const int64_t of_v[] = {kv_heads * keys * values, keys * values, 0},
                  of_y[] = {heads * queries * values, group * queries * values, queries * values};
    kernels::GemmArgs<W> g;
    g.m = queries, g.n = values, g.k = keys;
    g.a = numbers<W>(scratch, weights.view()), g.a_row = keys;
    g.b = numbers<W>(scratch, v), g.b_row = values;
    constexpr bool direct = std::is_same_v<T, W>;
    W* result;
    if constexpr (direct) result = y.data();
    else result = scratch.take<W>(y.size());
    g.c = result, g.c_row = values;
    g.batch = batch_of(of_scores, of_v, of_y);
    kernels::gemm(g);
    if constexpr (!direct)
      kernels::detail::store_row(result, dtype_of<T>, static_cast<void*>(y.data()), y.size());
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::FlexAttention)
