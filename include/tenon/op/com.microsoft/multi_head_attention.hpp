// MultiHeadAttention: attention of several heads, whose operands have been projected.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MultiHeadAttention
#pragma once

#include "tenon/op/families/attention_body.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// output = softmax(Q K^T * scale + addend) V for each head, where scale is 1 / sqrt(head size) by default.
/// Query is (batch, steps, heads * size), key and value are likewise, or (batch, heads, steps, size); bias
/// has the addends of Q, K and V in one vector. key_padding_mask is (batch, keys) or (batch, steps, keys) of
/// 0 and 1, or the number of keys of each entry of the batch (then, if there are twice as many numbers, the
/// first key of each); mask_filter_value is added for a key that it excludes. attention_bias (batch or 1,
/// heads or 1, steps, keys) is added as well. past_key and past_value (batch, heads, steps, size) precede K
/// and V; present_key and present_value are the concatenations, and `qk` has the scores. Packed QKV and KV
/// are refused, as by ONNX Runtime's CPU, which also ignores a past without presents: that is refused too.
/// op::com_microsoft::MultiHeadAttention{.num_heads = 2}(q, k, v) of (2,3,8), (2,4,8) and (2,4,8) gives
/// (2,3,8).
struct MultiHeadAttention {
  float mask_filter_value = -10000;
  Opt<int64_t> num_heads{};
  float scale = 0;
  int64_t unidirectional = 0;

  static constexpr Spec spec{
      .name = "MultiHeadAttention",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"query", "T"},
                 {"key", "T", optional},
                 {"value", "T", optional},
                 {"bias", "T", optional},
                 {"key_padding_mask", "M", optional},
                 {"attention_bias", "T", optional},
                 {"past_key", "T", optional},
                 {"past_value", "T", optional},
                 {"past_sequence_length", "M", optional},
                 {"cache_indirection", "M", optional}},
      .outputs = {{"output", "T"},
                  {"present_key", "T", optional},
                  {"present_value", "T", optional},
                  {"qk", "T", optional}},
      .types = {{"T", types::float32 | types::float16 | types::bfloat16}, {"M", types::int32}}};
  static constexpr Attributes attributes{attr("mask_filter_value", &MultiHeadAttention::mask_filter_value),
                                         attr("num_heads", &MultiHeadAttention::num_heads).required(),
                                         attr("scale", &MultiHeadAttention::scale),
                                         attr("unidirectional", &MultiHeadAttention::unidirectional).flag()};

  constexpr void infer(Infer& i) const {
    if (!i.expect_at_least("num_heads", num_heads.value_or(0), 1)) return;
    if (i.dims(0).rank() == 5 || i.dims(1).rank() == 5 || !i.has(1) || !i.has(2))
      return i.fail("packed query, key and value are not supported: split them into three operands");
    if (i.has(8) || i.has(9))
      return i.fail(
          "past_sequence_length and cache_indirection, for caches of fixed size, are not supported");
    if (!i.expect_rank(0, 3)) return;
    const Dims &q = i.dims(0), &k = i.dims(1), &v = i.dims(2);
    const bool ranked = q.ranked() && k.ranked() && v.ranked();
    for (int n : {1, 2})
      if (i.ranked(n) && i.dims(n).rank() != 3 && i.dims(n).rank() != 4)
        return i.fail(i.name(n), ": rank ", i.dims(n).rank(), ", expected 3 or 4");
    if (k.ranked() && v.ranked() && !i.expect_rank(2, k.rank())) return;
    if (i.has(6) != i.has(7)) return i.fail("past_key and past_value come together");
    if (i.has(6))
      i.for_runs([&] {
        if (i.outputs() < 3) i.fail("past_key and past_value need present_key and present_value");
      });
    if (!ranked) return;
    const Dim heads = *num_heads, size = by_head(i, q[2]);
    const Dim batch =
        i.unify(i.unify(q[0], k[0], "batches of query and key"), v[0], "batches of query and value");
    Dim keys, value_size;
    if (k.rank() == 4) {
      if (i.has(3)) return i.fail("bias needs key and value of rank 3");
      i.unify(k[1], heads, "heads");
      i.unify(v[1], heads, "heads");
      keys = i.unify(k[2], v[2], "steps of key and value");
      i.unify(k[3], size, "head sizes of query and key");
      value_size = v[3];
    } else {
      keys = i.unify(k[1], v[1], "steps of key and value");
      i.unify(k[2], q[2], "sizes of query and key");
      value_size = by_head(i, v[2]);
    }
    if (i.failed()) return;
    if (unidirectional != 0)
      i.for_runs([&] {
        if (keys.differs(q[1])) i.fail("unidirectional needs as many keys as queries: ", keys, " and ", q[1]);
      });
    if (i.has(3)) {
      if (!i.expect_rank(3, 1) || !i.expect_extents(3, {q[2] + q[2] + v[2]})) return;
    }
    Dim all = keys;
    if (i.has(6)) {
      if (!i.expect_rank(6, 4) || !i.expect_rank(7, 4)) return;
      const Dim past = i.unify(i.ranked(6) ? i.dims(6)[2] : Dim(), i.ranked(7) ? i.dims(7)[2] : Dim(),
                               "steps of past_key and past_value");
      i.expect_extents(6, {batch, heads, past, size});
      i.expect_extents(7, {batch, heads, past, value_size});
      all = past + keys;
    }
    check_key_mask(i, 4, batch, q[1], all);
    check_scores_bias(i, 5, {batch, heads, q[1], all});
    i.out(0, {batch, q[1], k.rank() == 4 ? heads * value_size : v[2]});
    i.out(1, {batch, heads, all, size});
    i.out(2, {batch, heads, all, value_size});
    i.out(3, {batch, heads, q[1], all});
  }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    const Dims &q = to.dims(0), &k = to.dims(1), &v = to.dims(2);
    if (!q.ranked() || !k.ranked() || !v.ranked()) return {};
    AttentionBody body{.heads = *num_heads,
                       .causal = unidirectional != 0,
                       .filter = mask_filter_value,
                       .scale = scale,
                       .type = to.in(0).type.element,
                       .q = to.input(0),
                       .k = to.input(1),
                       .v = to.input(2),
                       .past_key = to.input(6),
                       .past_value = to.input(7),
                       .mask = to.input(4),
                       .bias = to.input(5),
                       .split_heads = k.rank() == 4,
                       .batch = q[0],
                       .keys = k[k.rank() - 2],
                       .past = to.dims(6).ranked() ? to.dims(6)[2] : Dim(),
                       .mask_dims = to.dims(4)};
    if (!body.known()) return {};
    if (to.input(3) >= 0) {
      if (!q[2].known() || !v[2].known()) return {};
      const int64_t n = q[2].value();
      const auto plus = [&](int32_t x, int64_t first, int64_t last) {
        using function_body::ints;
        return to.add(Add{}, {x, to.add(Slice{}, {to.input(3), ints(to, {first}), ints(to, {last})})});
      };
      body.q = plus(body.q, 0, n);
      body.k = plus(body.k, n, 2 * n);
      body.v = plus(body.v, 2 * n, 2 * n + v[2].value());
    }
    return body.lower(to);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  constexpr Dim by_head(Infer& i, Dim size) const {
    if ((size % *num_heads).differs(0)) i.fail(size, " numbers do not make ", *num_heads, " heads");
    return size / *num_heads;
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::MultiHeadAttention)
