// LinearAttention: attention through a state instead of scores.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.LinearAttention
#pragma once

#include <numeric>

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/math/expand.hpp"
#include "tenon/op/nn/linear_attention.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// ONNX's LinearAttention, and with more KV heads than query heads: neighbouring KV heads then share a query
/// head, and output has kv_num_heads heads. Key may have fewer heads than value, which neighbours share
/// likewise. decay and beta are ignored if the rule has none, as by ONNX Runtime. State windows are refused.
/// op::com_microsoft::LinearAttention{.kv_num_heads = 2, .q_num_heads = 4, .update_rule = "linear"}(q, k, v)
/// of (1,5,12), (1,5,6) and (1,5,8) gives (1,5,16).
struct LinearAttention {
  int64_t chunk_size = 64;
  Opt<int64_t> kv_num_heads{};
  Opt<int64_t> q_num_heads{};
  float scale = 0;
  int64_t state_window = 0;  ///< only 0
  Str update_rule = "gated_delta";

  static constexpr TypeSet floats = types::float32 | types::float16 | types::bfloat16;
  static constexpr Spec spec{.name = "LinearAttention",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"query", "T"},
                                        {"key", "T"},
                                        {"value", "T"},
                                        {"past_state", "S", optional},
                                        {"decay", "T", optional},
                                        {"beta", "T", optional}},
                             .outputs = {{"output", "T"}, {"present_state", "S"}},
                             .types = {{"T", floats}, {"S", floats}}};
  static constexpr Attributes attributes{attr("chunk_size", &LinearAttention::chunk_size),
                                         attr("kv_num_heads", &LinearAttention::kv_num_heads).required(),
                                         attr("q_num_heads", &LinearAttention::q_num_heads).required(),
                                         attr("scale", &LinearAttention::scale),
                                         attr("state_window", &LinearAttention::state_window),
                                         attr("update_rule", &LinearAttention::update_rule)};

  constexpr void infer(Infer& i) const {
    const int64_t q = q_num_heads.value_or(0), kv = kv_num_heads.value_or(0);
    if (!i.expect_choice("state_window", state_window, {0}) ||
        !i.expect_choice("update_rule", update_rule, {"linear", "gated", "delta", "gated_delta"}) ||
        !i.expect_at_least("q_num_heads", q, 1) || !i.expect_at_least("kv_num_heads", kv, 1))
      return;
    if (q % kv != 0 && kv % q != 0) return i.fail(kv, " KV heads do not serve ", q, " query heads");
    if (gated() && !i.has(4)) return i.fail("update_rule '", update_rule, "' needs decay");
    if (delta() && !i.has(5)) return i.fail("update_rule '", update_rule, "' needs beta");
    Dim batch, steps;
    const auto width = [&](int input) {
      if (!i.expect_rank(input, 3) || !i.ranked(input)) return Dim();
      batch = i.unify(batch, i.dims(input)[0], "batches");
      steps = i.unify(steps, i.dims(input)[1], "steps");
      return i.dims(input)[2];
    };
    const auto by_head = [&](Dim numbers, Dim heads) {
      if ((numbers % heads).differs(0)) i.fail(numbers, " numbers do not make ", heads, " heads");
      return numbers / heads;
    };
    const Dim query = width(0), key = width(1), value = width(2);
    if (i.failed()) return;
    Dim size = by_head(query, q), value_size = by_head(value, kv);
    if (size.known() && key.known() && !shares(key.value(), size.value(), kv))
      return i.fail("key: ", key, " numbers are not of heads of ", size, " that serve ", kv, " KV heads");
    const auto gate = [&](int input, Dim one, Dim other) {
      const Dim numbers = width(input);
      if (numbers.differs(one) && numbers.differs(other))
        i.fail(i.name(input), ": ", i.dims(input), ", expected ", one, " or ", other, " numbers a step");
    };
    if (gated()) gate(4, kv, size * kv);
    if (delta()) gate(5, kv, 1);
    if (i.failed() || !i.expect_extents(3, {batch, kv, size, value_size})) return;
    i.out(0, {batch, steps, value_size * std::max(q, kv)});
    i.out(1, {batch, kv, size, value_size});
    i.out(1).type = i.has(3) ? i.in(3).type : i.in(0).type;
  }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    const int64_t q = *q_num_heads, kv = *kv_num_heads;
    if (!to.dims(0).ranked() || !to.dims(1).ranked()) return {};
    const Dim query = to.dims(0)[2], key = to.dims(1)[2];
    if (!query.known() || !key.known()) return {};
    const int64_t size = query.value() / q, heads = size == 0 ? kv : key.value() / size;
    return to.add(
        op::LinearAttention{chunk_size, kv, std::max(q, kv), scale, update_rule},
        {repeated(to, to.input(0), q, std::max(q, kv), size), repeated(to, to.input(1), heads, kv, size),
         to.input(2), to.input(3), gated() ? to.input(4) : -1, delta() ? to.input(5) : -1},
        2);
  }
  template <class L>
  void loops(L& l) const {
    // Groups of heads that share a head of the queries, of the keys, or of the values.
    if (l.dims(0).rank() != 3 || l.dims(1).rank() != 3) return;
    const Dim size = l.dims(0)[2] / *q_num_heads;
    const Dim keys = size.known() && !size.is(0) ? l.dims(1)[2] / size : Dim();
    if (!keys.known()) return;
    l.over({{0, 2}, {1, 2}, {2, 2}, {3, 1}, {4, 2}, {5, l.stretched(5, 2, 3)}}, {{0, 2}, {1, 1}},
           std::gcd(std::gcd(*q_num_heads, *kv_num_heads), keys.value()))
        .attributes = {"kv_num_heads", "q_num_heads"};
    l.over({{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}}, {{0, 0}, {1, 0}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  constexpr bool gated() const { return update_rule == "gated" || update_rule == "gated_delta"; }
  constexpr bool delta() const { return update_rule == "delta" || update_rule == "gated_delta"; }

  /// Whether the key's width is a number of heads of that size, which divides the number of KV heads.
  static constexpr bool shares(int64_t numbers, int64_t size, int64_t kv) {
    if (size == 0 || numbers == 0) return size == numbers;
    return numbers % size == 0 && kv % (numbers / size) == 0;
  }

  /// Heads of (batch, steps, heads * size), each repeated so that there are `count`.
  template <class L>
  static int32_t repeated(L& to, int32_t value, int64_t heads, int64_t count, int64_t size) {
    using namespace function_body;
    if (heads == count || size == 0) return value;
    const int32_t apart = reshaped(to, value, {0, 0, heads, 1, size}),
                  all = to.add(Expand{}, {apart, ints(to, {1, 1, 1, count / heads, 1})});
    return reshaped(to, all, {0, 0, count * size});
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::LinearAttention)
