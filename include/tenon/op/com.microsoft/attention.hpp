// Attention: attention of several heads, projections included.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.Attention
#pragma once

#include "tenon/op/families/attention_body.hpp"
#include "tenon/op/math/mat_mul.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// output = softmax(Q K^T * scale + addend) V for each head, where Q, K and V are parts of input * weights +
/// bias along the last axis, equal ones or of the sizes that qkv_hidden_sizes states. Input is (batch, steps,
/// size). mask_index is (batch, keys) or (batch, steps, keys) of 0 and 1, or the number of keys of each entry
/// of the batch, then, if there are twice as many numbers, the first key of each; mask_filter_value is added
/// for a key that it excludes. A mask of one column, (batch or 1, 1), excludes nothing. attention_bias (batch
/// or 1, heads or 1, steps, keys) is added to the scores as well. past (2, batch, heads, steps, size)
/// precedes K and V; `present` has the concatenations. Masks of rank 4, past with attention_bias, do_rotary
/// and a shared buffer are refused, as by ONNX Runtime's CPU, which ignores past_sequence_length otherwise.
/// op::com_microsoft::Attention{.num_heads = 2}(x, w, b) of (2,3,5), (5,24) and (24) gives (2,3,8).
struct Attention {
  int64_t do_rotary = 0;
  float mask_filter_value = -10000;
  Opt<int64_t> num_heads{};
  int64_t past_present_share_buffer = 0;
  Ints qkv_hidden_sizes{};
  int64_t rotary_embedding_dim = 0;
  float scale = 0;
  int64_t unidirectional = 0;

  static constexpr Spec spec{
      .name = "Attention",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"input", "T"},
                 {"weights", "T"},
                 {"bias", "T", optional},
                 {"mask_index", "M", optional},
                 {"past", "T", optional},
                 {"attention_bias", "T", optional},
                 {"past_sequence_length", "M", optional}},
      .outputs = {{"output", "T"}, {"present", "T", optional}},
      .types = {{"T", types::float32 | types::float16 | types::bfloat16}, {"M", types::int32}}};
  static constexpr Attributes attributes{
      attr("do_rotary", &Attention::do_rotary).flag(),
      attr("mask_filter_value", &Attention::mask_filter_value),
      attr("num_heads", &Attention::num_heads).required(),
      attr("past_present_share_buffer", &Attention::past_present_share_buffer).flag(),
      attr("qkv_hidden_sizes", &Attention::qkv_hidden_sizes),
      attr("rotary_embedding_dim", &Attention::rotary_embedding_dim),
      attr("scale", &Attention::scale),
      attr("unidirectional", &Attention::unidirectional).flag()};

  constexpr void infer(Infer& i) const { infer_projected_attention(i, operands()); }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    int32_t all = to.add(MatMul{}, {to.input(0), to.input(1)});
    if (to.input(2) >= 0) all = to.add(Add{}, {all, to.input(2)});
    return projected_attention(to, operands(), all,
                               {.causal = unidirectional != 0,
                                .filter = mask_filter_value,
                                .scale = scale,
                                .type = to.in(0).type.element});
  }
  template <class L>
  void loops(L& l) const {
    add_projected_attention_loops(l, operands());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  constexpr ProjectedAttention operands() const {
    return {.weights = 1,
            .bias = 2,
            .mask = 3,
            .past = 4,
            .scores_bias = 5,
            .heads = num_heads.value_or(0),
            .sizes = qkv_hidden_sizes,
            .rotary = do_rotary != 0,
            .shared = past_present_share_buffer != 0};
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::Attention)
