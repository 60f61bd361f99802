// GroupQueryAttention: attention over a cache of keys and values, with rotary embedding inside.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.GroupQueryAttention
#pragma once

#include <cmath>

#include "tenon/op/families/attention.hpp"
#include "tenon/op/families/cached_tokens.hpp"
#include "tenon/op/families/head_cache.hpp"
#include "tenon/op/families/head_vectors.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Attention of the S newest tokens of each entry b of the batch, which has T = seqlens_k[b] + 1 tokens in
/// all, to these tokens. total_sequence_length is the greatest T; if it is S, the tokens are a prompt, of
/// which only the first T count, and there are no earlier ones. query is (B, S, num_heads * D), key and value
/// are (B, S, kv_num_heads * D); or query holds all three side by side. past_key and past_value (B,
/// kv_num_heads, rows, D) hold earlier tokens in their first rows, and present_key and present_value then the
/// new ones too; further rows are 0. A past that is the present's own memory is extended in place. key and
/// value of no tokens, (B, 0, kv_num_heads * D), mean that the past holds the T tokens already, as another
/// layer's present.
///
/// softmax(softcap(Q K^T * scale) + attention_bias) V: tokens attend to themselves and earlier ones (causal),
/// of which local_window_size, unless it is negative, counts the nearest, the token itself included. Tokens
/// that attend to none, as with a window of 0, give zeros. smooth_softmax adds 1 to the denominator,
/// head_sink exp(sink) of the head. output_qk are the scores before (qk_output 1) or after the softmax (2), 0
/// where a token does not attend.
///
/// First, q_norm_weight and k_norm_weight normalise each head's vector by its root of the mean square, and
/// do_rotary rotates pairs by the caches' angles at the token's position, which position_ids may state; for a
/// prompt its first element holds, and the next positions follow.
///
/// Caches of integers: int8 (8 bits) or bytes of two integers (4 bits), times k_scale and v_scale, one number
/// (PER_TENSOR) or one for each head and channel (PER_CHANNEL). New tokens are rounded before anything
/// attends to them. Of 1,024 normally distributed keys and values of size 64, with scales for the greatest
/// ones, outputs err by 1.4 and 1.2 % of their root mean square at 8 bits, by 27 and 22 % at 4 bits; if the
/// spread of channels is log-normal (0.7), by 4.7 and 1.5 %, 72 and 27 %.
///
/// sliding_window_cache: the past has C >= local_window_size rows, for the latest tokens only. Of T tokens,
/// T - G ceil((T - C) / G) remain in it if T exceeds C, G = C - local_window_size + 1.
/// op::com_microsoft::GroupQueryAttention{.kv_num_heads = 1, .num_heads = 2}(q, k, v, none, none, seqlens_k,
/// total) of (1,3,16), (1,3,8), (1,3,8), (1) and () gives (1,3,16).
struct GroupQueryAttention {
  int64_t causal = 1;
  int64_t do_rotary = 0;
  Str k_quant_type = "NONE";
  int64_t kv_cache_bit_width = 0;
  Opt<int64_t> kv_num_heads{};
  int64_t local_window_size = -1;
  Opt<int64_t> num_heads{};
  float qk_norm_epsilon = 1e-6f;
  int64_t qk_output = 0;
  int64_t rotary_interleaved = 0;
  float scale = 0;  ///< 0: 1 / sqrt(D)
  int64_t sliding_window_cache = 0;
  int64_t smooth_softmax = 0;  ///< -1 is 0 too, ONNX Runtime's default
  float softcap = 0;
  Str v_quant_type = "NONE";

  static constexpr TypeSet floats = types::float32 | types::float16 | types::bfloat16;
  static constexpr Spec spec{.name = "GroupQueryAttention",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"query", "T"},
                                        {"key", "T", optional},
                                        {"value", "T", optional},
                                        {"past_key", "T_CACHE", optional},
                                        {"past_value", "T_CACHE", optional},
                                        {"seqlens_k", "M"},
                                        {"total_sequence_length", "M"},
                                        {"cos_cache", "T", optional},
                                        {"sin_cache", "T", optional},
                                        {"position_ids", "tensor(int64)", optional},
                                        {"attention_bias", "T", optional},
                                        {"head_sink", "T", optional},
                                        {"k_scale", "T_KV_SCALE", optional},
                                        {"v_scale", "T_KV_SCALE", optional},
                                        {"q_norm_weight", "T", optional},
                                        {"k_norm_weight", "T", optional}},
                             .outputs = {{"output", "T"},
                                         {"present_key", "T_CACHE", optional},
                                         {"present_value", "T_CACHE", optional},
                                         {"output_qk", "T", optional}},
                             .types = {{"T", floats},
                                       {"T_CACHE", floats | types::int8 | types::uint8},
                                       {"T_KV_SCALE", types::float32},
                                       {"M", types::int32}},
                             .workspace = Workspace::unplanned,
                             .updates = {{.output = 1, .input = 3}, {.output = 2, .input = 4}}};
  static constexpr Attributes attributes{
      attr("causal", &GroupQueryAttention::causal).flag(),
      attr("do_rotary", &GroupQueryAttention::do_rotary).flag(),
      attr("k_quant_type", &GroupQueryAttention::k_quant_type),
      attr("kv_cache_bit_width", &GroupQueryAttention::kv_cache_bit_width),
      attr("kv_num_heads", &GroupQueryAttention::kv_num_heads).required(),
      attr("local_window_size", &GroupQueryAttention::local_window_size),
      attr("num_heads", &GroupQueryAttention::num_heads).required(),
      attr("qk_norm_epsilon", &GroupQueryAttention::qk_norm_epsilon),
      attr("qk_output", &GroupQueryAttention::qk_output),
      attr("rotary_interleaved", &GroupQueryAttention::rotary_interleaved).flag(),
      attr("scale", &GroupQueryAttention::scale),
      attr("sliding_window_cache", &GroupQueryAttention::sliding_window_cache).flag(),
      attr("smooth_softmax", &GroupQueryAttention::smooth_softmax),
      attr("softcap", &GroupQueryAttention::softcap),
      attr("v_quant_type", &GroupQueryAttention::v_quant_type)};

  constexpr bool drops_rows() const { return sliding_window_cache != 0; }
  constexpr int64_t least_rows() const { return sliding_window_cache != 0 ? local_window_size : 0; }
  constexpr void infer(Infer& i) const {
    const int64_t heads = num_heads ? *num_heads : 0, kv = kv_num_heads ? *kv_num_heads : 0;
    if (!i.expect_at_least("num_heads", heads, 1) || !i.expect_at_least("kv_num_heads", kv, 1) ||
        !i.expect_choice("k_quant_type", k_quant_type, {"NONE", "PER_TENSOR", "PER_CHANNEL"}) ||
        !i.expect_choice("qk_output", qk_output, {0, 1, 2}) ||
        !i.expect_choice("smooth_softmax", smooth_softmax, {-1, 0, 1}))
      return;
    if (k_quant_type != v_quant_type)
      return i.fail("k_quant_type is ", k_quant_type, ", v_quant_type is ", v_quant_type);
    if (quantised() && !i.expect_choice("kv_cache_bit_width", kv_cache_bit_width, {4, 8})) return;
    if (heads % kv != 0) return i.fail(kv, " heads of keys do not serve ", heads, " heads of queries");
    if (causal == 0 && local_window_size != -1) return i.fail("local_window_size needs causal");
    if (!(softcap >= 0)) return i.fail("softcap is negative");
    if (sliding_window_cache != 0 && local_window_size < 1)
      return i.fail("sliding_window_cache needs local_window_size, of at least 1");
    infer_operands(i, heads, kv);
  }

  /// Error{out_of_range} for an element of seqlens_k or position_ids that the caches do not hold.
  template <class T>
  void compute(TensorView<const T> query, TensorView<const T> key, TensorView<const T> value,
               AnyView past_key, AnyView past_value, TensorView<const int32_t> seqlens_k,
               TensorView<const int32_t> total, TensorView<const T> cos_cache, TensorView<const T> sin_cache,
               TensorView<const int64_t> position_ids, TensorView<const T> attention_bias,
               TensorView<const T> head_sink, TensorView<const float> k_scale,
               TensorView<const float> v_scale, TensorView<const T> q_norm_weight,
               TensorView<const T> k_norm_weight, TensorView<T> y, AnyOut present_key, AnyOut present_value,
               TensorView<T> output_qk) const {
    constexpr DType t = dtype_of<T>;
    const int64_t heads = *num_heads, kv = *kv_num_heads, batch = query.extent(0), steps = query.extent(1);
    const bool packed = !key, prompt = steps == total[0];
    const int64_t size = query.extent(2) / (packed ? heads + 2 * kv : heads);
    const int64_t past_rows = past_key ? past_key.extent(2) : 0;
    const CachedTokens tokens = this->tokens();
    const bool shared = !packed && key.extent(1) == 0 && steps > 0;
    for (int64_t b = 0; b < batch; ++b) tokens.check_length(seqlens_k[b], steps, total[0]);
    // Without elements, there may be any number of heads.
    if (size == 0 && output_qk.empty()) return;
    Scratch scratch;

    // Queries, keys and values of the new tokens.
    const int64_t fresh = shared ? 0 : steps;
    const HeadCounts queries{batch, steps, heads, size}, keys{batch, fresh, kv, size};
    const int64_t row = query.extent(2);
    HeadVectors<T> q{query.data(), steps * row, row}, k = keys.dense(key.data()),
                                                      v = keys.dense(value.data());
    if (packed) {
      k = v = q;
      k.data += heads * size, v.data += (heads + kv) * size;
    }
    if (q_norm_weight) {
      q = normalised_heads(scratch, q, queries, q_norm_weight.data(), qk_norm_epsilon);
      k = normalised_heads(scratch, k, keys, k_norm_weight.data(), qk_norm_epsilon);
    }
    if (do_rotary != 0) {
      const int64_t* positions =
          tokens.positions(scratch, seqlens_k, position_ids, steps, prompt, cos_cache.extent(0));
      const auto rotated = [&](const HeadVectors<T>& x, const HeadCounts& n) {
        return rotated_heads(scratch, x, n, cos_cache.data(), sin_cache.data(), cos_cache.extent(1),
                             rotary_interleaved != 0, positions);
      };
      q = rotated(q, queries);
      k = rotated(k, keys);
    }
    if (!output_qk.empty()) std::fill_n(output_qk.data(), output_qk.size(), T(0.0f));
    const float* sinks = nullptr;
    if (head_sink || smooth_softmax == 1) sinks = sinks_of(scratch, head_sink, heads);

    const CacheForm k_form = form(scratch, t, k_scale, size), v_form = form(scratch, t, v_scale, size);
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t length = seqlens_k[b] + 1, past = prompt ? 0 : length - steps;
      const int64_t held = shared ? length : tokens.resident(past, past_rows),
                    start = shared ? 0 : past - held;  // absolute position of row 0
      Scratch inner;
      kernels::AttentionArgs a;
      a.batch = 1, a.heads = heads, a.kv_heads = kv;
      a.queries = steps, a.size = a.value_size = size;
      a.q = {t, q.data + b * q.batch, 0, size, q.row};
      a.y = {t, y.data() + b * steps * heads * size, 0, size, heads * size};
      const HeadCache k_cache(k_form, past_key, present_key, b, kv, size),
          v_cache(v_form, past_value, present_value, b, kv, size);
      const auto k_new = k_cache.fresh(inner, k.data + b * k.batch, k.row, fresh),
                 v_new = v_cache.fresh(inner, v.data + b * v.batch, v.row, fresh);
      const kernels::AttentionPart parts[] = {{.k = k_cache.earlier(), .v = v_cache.earlier(), .keys = held},
                                              {.k = k_new, .v = v_new, .keys = fresh}};
      a.parts = parts;
      a.k_factors = k_form.factors, a.v_factors = v_form.factors;
      a.scale = scale == 0 ? 1 / std::sqrt(static_cast<double>(size)) : static_cast<double>(scale);
      a.softcap = softcap;
      a.left = local_window_size - (local_window_size > 0);
      a.right = causal != 0 ? 0 : -1;
      a.offset = past - start;
      const int64_t end = local_window_size == 0 ? 0 : length - start;
      a.ends = &end;
      a.sinks = sinks;
      if (attention_bias) {
        a.mask = attention_mask(attention_bias);
        a.mask.data = attention_bias.data() + b * a.mask.batch + start;
        a.mask.keys -= start;
      }
      if (!output_qk.empty() && qk_output != 0) {
        const int64_t columns = output_qk.extent(3);
        a.scores = {t, output_qk.data() + b * heads * steps * columns + start, 0, steps * columns, columns};
        a.scores_kind = qk_output == 1 ? kernels::AttentionScores::masked : kernels::AttentionScores::weights;
      }
      if (steps > 0) kernels::attention<compute_t<T>>(a);
      if (a.scores.data != nullptr) tokens.hide(output_qk, b, past, start, length);
      const int64_t kept = sliding_window_cache != 0 ? tokens.resident(length, past_rows) : held + fresh;
      const int64_t count = sliding_window_cache != 0 ? length - start : held + fresh;
      k_cache.store(k_new, held, count, kept);
      v_cache.store(v_new, held, count, kept);
    }
  }
  template <class L>
  void loops(L& l) const {
    add_cached_attention_loops(l, *num_heads, *kv_num_heads, k_quant_type == "PER_CHANNEL");
  }
  template <class L>
  double multiplications(const L& l) const {
    return cached_attention_multiplications(l);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  constexpr bool quantised() const { return k_quant_type != "NONE"; }

  constexpr void infer_operands(Infer& i, int64_t heads, int64_t kv) const {
    if (i.has(1) != i.has(2)) return i.fail("key and value come together");
    if (i.has(3) != i.has(4)) return i.fail("past_key and past_value come together");
    if (i.has(14) != i.has(15)) return i.fail("q_norm_weight and k_norm_weight come together");
    if (!i.expect_rank(0, 3)) return;
    const Dims query = i.ranked(0) ? i.dims(0) : Dims::of_rank(3);
    const Dim parts = i.has(1) ? Dim(heads) : Dim(heads) + Dim(kv) * 2;
    if (!parts.known()) return i.fail("num_heads and kv_num_heads are too large");
    if ((query[2] % parts).differs(0))
      return i.fail("query: ", query[2], " numbers do not make ", parts, " heads");
    const Dim batch = query[0], steps = query[1], size = query[2] / parts;
    const bool shared = i.dims(1).rank() == 3 && i.dims(1)[1].is(0) && !steps.is(0);
    for (int k : {1, 2})
      if (!i.expect_extents(k, {batch, shared ? Dim(0) : steps, size * kv})) return;
    if (shared && !i.has(3)) return i.fail("key of no tokens needs past_key, which holds them");
    if (shared && sliding_window_cache != 0)
      return i.fail("sliding_window_cache needs the key and the value of the tokens");
    const DType stored = !quantised() ? i.dtype(0) : kv_cache_bit_width == 8 ? DType::int8 : DType::uint8;
    const bool halved = quantised() && kv_cache_bit_width == 4;
    if (halved && (size % 2).differs(0))
      return i.fail("heads of size ", size, ", but a byte holds two numbers of 4 bits");
    const Dim vector = halved ? size / 2 : size;
    Dim past;
    if (i.has(3)) {
      if (!i.expect_rank(3, 4) || !i.expect_rank(4, 4)) return;
      past = i.unify(i.dims(3).ranked() ? i.dims(3)[2] : Dim(), i.dims(4).ranked() ? i.dims(4)[2] : Dim(),
                     "rows of past_key and past_value");
      for (int k : {3, 4}) {
        if (!i.expect_extents(k, {batch, kv, past, vector})) return;
        if (i.dtype(k) != stored) return i.fail_type(i.name(k), " is ", i.dtype(k), ", expected ", stored);
      }
    }
    if (sliding_window_cache != 0) {
      if (!i.has(3)) return i.fail("sliding_window_cache needs past_key");
      if (!i.expect_at_least("rows of past_key", past, local_window_size)) return;
    }
    const Dim total = tokens().infer_lengths(i, batch, steps, shared, i.has(3) ? past : Dim(0));
    if (do_rotary != 0) infer_angles(i, size);
    if (i.failed() || !i.expect_extents(11, {heads})) return;
    check_cached_bias(i, 10, {batch, heads, steps, total});
    if (i.failed()) return;
    for (int k : {12, 13})
      check_cache_scale(i, k, quantised(), k_quant_type == "PER_TENSOR" ? Dim(1) : size * kv);
    if (i.failed()) return;
    if (!i.expect_extents(14, {size}) || !i.expect_extents(15, {size})) return;

    i.out(0, {batch, steps, size * heads});
    Dim rows = i.has(3) ? past : total;
    if (i.has(3) && sliding_window_cache == 0)
      rows = past.known() && total.known() ? Dim(std::max(past.value(), total.value())) : Dim();
    i.out(1, stored, {batch, kv, rows, vector});
    i.out(2, stored, {batch, kv, rows, vector});
    i.out(3, {batch, heads, steps, total});
  }

  constexpr CachedTokens tokens() const {
    return {spec.name, local_window_size, causal != 0, sliding_window_cache != 0};
  }

  /// The form of a cache of type t, unless it is quantised.
  CacheForm form(Scratch& scratch, DType t, TensorView<const float> scale, int64_t size) const {
    if (!scale) return {t};
    const DType codes = kv_cache_bit_width == 4 ? DType::uint4 : DType::int8;
    if (k_quant_type == "PER_CHANNEL") return {codes, scale.data()};
    auto* const factors = scratch.take<float>(*kv_num_heads * size);
    std::fill_n(factors, *kv_num_heads * size, scale.data()[0]);
    return {codes, factors};
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::GroupQueryAttention)
