// QAttention: Attention, whose input and weights are quantised.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QAttention
#pragma once

#include "tenon/op/families/attention_body.hpp"
#include "tenon/op/families/integer_product_body.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Attention of com.microsoft with the projection (input - input_zero_point) (weight - weight_zero_point) *
/// input_scale * weight_scale + bias of bytes; weight's scale and zero point are one number or one for each
/// column. Other operands are as for Attention. op::com_microsoft::QAttention{.num_heads = 2}(x, w, b, 0.5f,
/// 0.5f) of (2,3,5), (5,24) and (24) gives (2,3,8).
struct QAttention {
  int64_t do_rotary = 0;
  float mask_filter_value = -10000;
  Opt<int64_t> num_heads{};
  int64_t past_present_share_buffer = 0;
  float scale = 0;
  int64_t unidirectional = 0;

  static constexpr Spec spec{.name = "QAttention",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"input", "T1"},
                                        {"weight", "T2"},
                                        {"bias", "T3"},
                                        {"input_scale", "T3"},
                                        {"weight_scale", "T3"},
                                        {"mask_index", "T4", optional},
                                        {"input_zero_point", "T1", optional},
                                        {"weight_zero_point", "T2", optional},
                                        {"past", "T3", optional}},
                             .outputs = {{"output", "T3"}, {"present", "T3", optional}},
                             .types = {{"T3", types::float32},
                                       {"T1", types::int8 | types::uint8},
                                       {"T2", types::int8 | types::uint8},
                                       {"T4", types::int32}}};
  static constexpr Attributes attributes{
      attr("do_rotary", &QAttention::do_rotary).flag(),
      attr("mask_filter_value", &QAttention::mask_filter_value),
      attr("num_heads", &QAttention::num_heads).required(),
      attr("past_present_share_buffer", &QAttention::past_present_share_buffer).flag(),
      attr("scale", &QAttention::scale),
      attr("unidirectional", &QAttention::unidirectional).flag()};

  constexpr void infer(Infer& i) const {
    if (!i.expect_rank(1, 2) || !i.expect_one(3) || !i.expect_one(6)) return;
    for (int k : {3, 4})
      if (i.dims(k).rank() > 3) return i.fail(i.name(k), ": ", i.dims(k), " has more axes than input");
    for (int k : {4, 7})
      if (i.has(k) && i.ranked(1, k) && !i.dims(k).count().is(1) && !i.expect_extents(k, {i.dims(1)[1]}))
        return;
    infer_projected_attention(i, operands());
  }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    const int32_t all = function_body::scaled_product(to, {.a = to.input(0),
                                                           .b = to.input(1),
                                                           .a_zero = to.input(6),
                                                           .b_zero = to.input(7),
                                                           .a_scale = to.input(3),
                                                           .b_scale = to.input(4),
                                                           .bias = to.input(2)});
    return projected_attention(
        to, operands(), all,
        {.causal = unidirectional != 0, .filter = mask_filter_value, .scale = scale, .type = DType::float32});
  }
  template <class L>
  void loops(L& l) const {
    add_projected_attention_loops(l, operands(), {4, 7});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  constexpr ProjectedAttention operands() const {
    return {.weights = 1,
            .bias = 2,
            .mask = 5,
            .past = 8,
            .heads = num_heads.value_or(0),
            .rotary = do_rotary != 0,
            .shared = past_present_share_buffer != 0};
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::QAttention)
