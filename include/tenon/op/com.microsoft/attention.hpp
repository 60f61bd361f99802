// Attention: attention of several heads, projections included.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.Attention
#pragma once

#include "tenon/op/families/attention_body.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/split.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// output = softmax(Q K^T * scale + addend) V for each head, where Q, K and V are parts of input * weights +
/// bias along the last axis, equal ones or of the sizes that qkv_hidden_sizes states. Input is (batch, steps,
/// size). mask_index is (batch, keys) or (batch, steps, keys) of 0 and 1, or the number of keys of each entry
/// of the batch, then, if there are twice as many numbers, the first key of each; mask_filter_value is added
/// for a key that it excludes. attention_bias (batch or 1, heads or 1, steps, keys) is added to the scores as
/// well. past (2, batch, heads, steps, size) precedes K and V; `present` has the concatenations. Masks of
/// rank 4, past with attention_bias, do_rotary and a shared buffer are refused, as by ONNX Runtime's CPU.
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

  constexpr void infer(Infer& i) const {
    if (!num_heads || !i.expect_at_least("num_heads", *num_heads, 1)) return;
    if (do_rotary != 0) return i.fail("do_rotary is not supported: use RotaryEmbedding");
    if (past_present_share_buffer != 0 || i.has(6))
      return i.fail("a past that shares present's memory is not supported");
    if (i.has(4) && i.has(5)) return i.fail("past together with attention_bias is not supported");
    if (!i.expect_rank(0, 3) || !i.expect_rank(1, 2)) return;
    if (!qkv_hidden_sizes.empty() && !i.expect_entries("qkv_hidden_sizes", qkv_hidden_sizes.size(), 3))
      return;
    const Dims &x = i.dims(0), &w = i.dims(1);
    if (!x.ranked() || !w.ranked()) return;
    i.unify(x[2], w[0], "inner extents");
    if (i.has(2) && (!i.expect_rank(2, 1) || !i.expect_extents(2, {w[1]}))) return;
    const Sizes s = sizes(w[1]);
    for (int k = 0; k < 3; ++k) {
      if (s.part[k].below(0) || (s.part[k] % *num_heads).differs(0))
        return i.fail(s.part[k], " numbers do not make ", *num_heads, " heads");
    }
    if (s.part[0].differs(s.part[1]))
      return i.fail("sizes of Q and K differ: ", s.part[0], " and ", s.part[1]);
    if ((s.part[0] + s.part[1] + s.part[2]).differs(w[1]))
      return i.fail("weights ", w, " are not of the sizes of Q, K and V");
    const Dim heads = *num_heads, size = s.part[2] / *num_heads;
    Dim all = x[1];
    if (i.has(4)) {
      if (!i.expect_rank(4, 5) || !i.expect_extents(4, {2, x[0], heads, Dim(), size})) return;
      if (s.part[2].differs(s.part[1])) return i.fail("past needs equal sizes of K and V");
      i.for_runs([&] {
        if (i.outputs() < 2) i.fail("past needs present");
      });
      all = i.ranked(4) ? i.dims(4)[3] + x[1] : Dim();
    }
    check_key_mask(i, 3, x[0], x[1], all);
    check_scores_bias(i, 5, {x[0], heads, x[1], all});
    if (i.outputs() > 1 && s.part[2].differs(s.part[1]))
      return i.fail("present needs equal sizes of K and V");
    i.out(0, {x[0], x[1], s.part[2]});
    i.out(1, {2, x[0], heads, all, size});
  }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    using namespace function_body;
    const Dims &x = to.dims(0), &w = to.dims(1);
    if (!x.ranked() || !w.ranked() || !w[1].known()) return {};
    AttentionBody body{.heads = *num_heads,
                       .causal = unidirectional != 0,
                       .filter = mask_filter_value,
                       .scale = scale,
                       .type = to.in(0).type.element,
                       .mask = to.input(3),
                       .bias = to.input(5),
                       .batch = x[0],
                       .keys = x[1],
                       .past = to.dims(4).ranked() ? to.dims(4)[3] : Dim(),
                       .mask_dims = to.dims(3)};
    if (!body.known() || (body.mask >= 0 && !body.mask_dims.ranked())) return {};
    int32_t all = to.add(MatMul{}, {to.input(0), to.input(1)});
    if (to.input(2) >= 0) all = to.add(Add{}, {all, to.input(2)});
    const Sizes s = sizes(w[1]);
    const std::vector<int32_t> parts = to.add(
        Split{.axis = 2}, {all, ints(to, {s.part[0].value(), s.part[1].value(), s.part[2].value()})}, 3);
    body.q = parts[0], body.k = parts[1], body.v = parts[2];
    if (to.input(4) >= 0) {
      body.past_key = to.add(Gather{}, {to.input(4), number(to, DType::int64, 0)});
      body.past_value = to.add(Gather{}, {to.input(4), number(to, DType::int64, 1)});
    }
    const std::vector<int32_t> made = body.lower(to);
    // Without equal sizes there is no `present`.
    const int32_t present =
        s.part[1].same(s.part[2])
            ? to.add(Concat{.axis = 0}, {unsqueezed(to, made[1], {0}), unsqueezed(to, made[2], {0})})
            : made[1];
    return {made[0], present};
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  struct Sizes {
    Dim part[3];
  };
  constexpr Sizes sizes(Dim all) const {
    if (qkv_hidden_sizes.size() == 3)
      return {{qkv_hidden_sizes[0], qkv_hidden_sizes[1], qkv_hidden_sizes[2]}};
    return {{all / 3, all / 3, all / 3}};
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::Attention)
