// DecoderMaskedMultiHeadAttention: attention of one new step to a cache, which beams may share.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.DecoderMaskedMultiHeadAttention
#pragma once

#include "tenon/op/com.microsoft/multi_head_attention.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// MultiHeadAttention of a query (B, 1, num_heads * D). key and value are the step's, in the same form, and
/// past_key and past_value (B, num_heads, rows, D) have past_sequence_length steps before it
/// (past_present_share_buffer); or they are (B, num_heads, keys, D), without a past. mask_index is (B, keys)
/// of 0 and 1. cache_indirection tells whose past has a step, as in MultiHeadAttention; its width is the
/// beam_width. op::com_microsoft::DecoderMaskedMultiHeadAttention{.num_heads = 2}(q, k, v) of (2,1,8),
/// (2,2,5,4) and (2,2,5,4) gives (2,1,8).
struct DecoderMaskedMultiHeadAttention {
  float mask_filter_value = -10000;
  Opt<int64_t> num_heads{};
  int64_t output_qk = 0;
  int64_t past_present_share_buffer = 0;
  float scale = 0;

  static constexpr Spec spec{.name = "DecoderMaskedMultiHeadAttention",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"query", "T"},
                                        {"key", "T", optional},
                                        {"value", "T", optional},
                                        {"mask_index", "M", optional},
                                        {"attention_bias", "T", optional},
                                        {"past_key", "T", optional},
                                        {"past_value", "T", optional},
                                        {"past_sequence_length", "M", optional},
                                        {"beam_width", "M", optional},
                                        {"cache_indirection", "M", optional},
                                        {"bias", "T", optional}},
                             .outputs = {{"output", "T"},
                                         {"present_key", "T", optional},
                                         {"present_value", "T", optional},
                                         {"qk", "T", optional}},
                             .types = {{"T", types::float32 | types::float16}, {"M", types::int32}}};
  static constexpr Attributes attributes{
      attr("mask_filter_value", &DecoderMaskedMultiHeadAttention::mask_filter_value),
      attr("num_heads", &DecoderMaskedMultiHeadAttention::num_heads).required(),
      attr("output_qk", &DecoderMaskedMultiHeadAttention::output_qk).flag(),
      attr("past_present_share_buffer", &DecoderMaskedMultiHeadAttention::past_present_share_buffer).flag(),
      attr("scale", &DecoderMaskedMultiHeadAttention::scale)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_at_least("num_heads", num_heads.value_or(0), 1)) return;
    if (i.has(5) != i.has(6)) return i.fail("past_key and past_value come together");
    const bool cached = i.has(5);
    if (!i.has(1) || !i.has(2))
      return i.fail("key and value are missing: a query of all three is not supported");
    if (cached && past_present_share_buffer == 0)
      return i.fail("past_key needs past_present_share_buffer: use MultiHeadAttention without it");
    if (cached != i.has(7)) return i.fail("past_key and past_sequence_length come together");
    if (i.has(9) && !cached) return i.fail("cache_indirection needs past_key");
    if (!i.expect_rank(0, 3) || !i.expect_rank(1, cached ? 3 : 4) || !i.expect_rank(2, cached ? 3 : 4))
      return;
    const Dims q = i.ranked(0) ? i.dims(0) : Dims::of_rank(3);
    const Dim batch = q[0], heads = *num_heads, size = q[2] / heads;
    if ((q[2] % heads).differs(0)) return i.fail(q[2], " numbers do not make ", heads, " heads");
    if (q[1].differs(1)) return i.fail("query: ", q, " has ", q[1], " steps, expected 1");
    Dim keys = 1, rows;
    if (cached) {
      if (!i.expect_extents(1, {batch, 1, q[2]}) || !i.expect_extents(2, {batch, 1, q[2]})) return;
      if (!i.expect_rank(5, 4) || !i.expect_rank(6, 4) || !i.expect_one(7)) return;
      rows = i.unify(i.ranked(5) ? i.dims(5)[2] : Dim(), i.ranked(6) ? i.dims(6)[2] : Dim(),
                     "steps of past_key and past_value");
      for (const int k : {5, 6})
        if (!i.expect_extents(k, {batch, heads, rows, size})) return;
      const Dim filled = i.item(7);
      if (filled.known() && (filled.value() < 0 || rows.below(filled.value() + 1)))
        return i.fail("past_sequence_length: ", filled, ", but past_key has ", rows, " steps");
      keys = filled + 1;
      check_beams(i, 9, batch, rows);
    } else {
      keys = i.unify(i.ranked(1) ? i.dims(1)[2] : Dim(), i.ranked(2) ? i.dims(2)[2] : Dim(),
                     "steps of key and value");
      for (const int k : {1, 2})
        if (!i.expect_extents(k, {batch, heads, keys, size})) return;
      rows = keys;
    }
    if (i.failed() || !i.expect_rank(3, 2) || !i.expect_extents(3, {batch, keys})) return;
    check_scores_bias(i, 4, {batch, heads, 1, keys});
    if (i.failed() || !i.expect_rank(10, 1) || !i.expect_extents(10, {q[2] * 3})) return;
    i.out(0, {batch, 1, q[2]});
    i.out(1, {batch, heads, rows, size});
    i.out(2, {batch, heads, rows, size});
    i.out(3, {batch, heads, 1, keys});
  }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    const auto in = [&](int k) { return to.input(k); };
    return to.add(
        MultiHeadAttention{.mask_filter_value = mask_filter_value, .num_heads = num_heads, .scale = scale},
        {in(0), in(1), in(2), in(10), in(3), in(4), in(5), in(6), in(7), in(9)}, 4);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::DecoderMaskedMultiHeadAttention)
