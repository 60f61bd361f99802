// MultiHeadAttention: attention of several heads, whose operands have been projected.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MultiHeadAttention
#pragma once

#include <limits>

#include "tenon/op/families/attention_body.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// output = softmax(Q K^T * scale + addend) V for each head, where scale is 1 / sqrt(head size) by default.
/// Query is (batch, steps, heads * size), key and value are likewise, or (batch, heads, steps, size); or
/// query is (batch, steps, heads, 3, size) and holds all three, or key is (batch, steps, heads, 2, size) and
/// holds key and value. bias has the addends of Q, K and V in one vector; a key of rank 4 and its value have
/// none. key_padding_mask is (batch, keys) or (batch, steps, keys) of 0 and 1, or the number of keys of each
/// entry of the batch (then, if there are twice as many numbers, the first key of each); mask_filter_value is
/// added for a key that it excludes. attention_bias (batch or 1, heads or 1, steps, keys) is added as well.
/// past_key and past_value (batch, heads, steps, size) precede K and V; present_key and present_value are the
/// concatenations, and `qk` has the scores, in query's type. unidirectional hides keys after the query's own
/// place, past included, but none from the last query. With past_sequence_length only that many steps of the
/// past count; the presents are the past with the new steps after these. Then cache_indirection (groups,
/// width, steps of past_key) names, for each entry of the batch, which is groups * width, and each step the
/// entry of the group whose past has that step. A past without presents is refused,
/// because ONNX Runtime's CPU ignores it against its documentation, and gives a mask of all keys to the wrong
/// ones; packed operands are an addition to that CPU's. A query whose addends are all -infinity gives zeros,
/// as in ONNX's Attention, and NaN in ONNX Runtime. op::com_microsoft::MultiHeadAttention{.num_heads = 2}(q,
/// k, v) of (2,3,8), (2,4,8) and (2,4,8) gives (2,3,8).
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
    if (i.has(9) && (!i.has(6) || !i.has(8)))
      return i.fail("cache_indirection needs past_key and past_sequence_length");
    if (i.has(6) != i.has(7)) return i.fail("past_key and past_value come together");
    if (i.has(6))
      i.for_runs([&] {
        if (i.outputs() < 3)
          i.fail("past_key and past_value need present_key and present_value: name these results, or leave ",
                 "out the past, which ONNX Runtime's CPU ignores without them");
      });
    if (i.failed()) return;
    const Sizes s = sizes(i);
    if (i.failed() || !s.known) return;
    const Dim heads = *num_heads;
    if (i.has(3)) {
      if (i.dims(1).rank() == 5) return i.fail("bias needs a key that holds no value");
      if (!i.expect_rank(3, 1) || !i.expect_extents(3, {heads * (s.size * 2 + s.value_size)})) return;
    }
    Dim all = s.keys, stored = s.keys;
    if (i.has(6)) {
      if (!i.expect_rank(6, 4) || !i.expect_rank(7, 4)) return;
      const Dim past = i.unify(i.ranked(6) ? i.dims(6)[2] : Dim(), i.ranked(7) ? i.dims(7)[2] : Dim(),
                               "steps of past_key and past_value");
      i.expect_extents(6, {s.batch, heads, past, s.size});
      i.expect_extents(7, {s.batch, heads, past, s.value_size});
      all = stored = past + s.keys;
      if (i.has(8)) {
        stored = past;
        all = Dim();
        if (!i.expect_one(8)) return;
        if (i.has_elements(8)) {
          const Dim filled = i.element(8, 0);
          if (filled.known() && (filled.value() < 0 || past.below(filled.value())))
            return i.fail("past_sequence_length: ", filled, ", but past_key has ", past, " steps");
          all = s.keys + filled;
        }
        check_beams(i, 9, s.batch, past);
      }
    }
    check_key_mask(i, 4, s.batch, s.steps, all);
    check_scores_bias(i, 5, {s.batch, heads, s.steps, all});
    i.out(0, {s.batch, s.steps, heads * s.value_size});
    i.out(1, {s.batch, heads, stored, s.size});
    i.out(2, {s.batch, heads, stored, s.value_size});
    i.out(3, {s.batch, heads, s.steps, all});
  }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    const Dims &q = to.dims(0), &k = to.dims(1), &v = to.dims(2);
    if (!q.ranked() || (to.input(1) >= 0 && !k.ranked()) || (to.input(2) >= 0 && !v.ranked()) ||
        (to.input(9) >= 0 && !to.dims(9).ranked()))
      return {};
    const Dim keys = q.rank() == 5 ? q[1] : k.rank() == 4 ? k[2] : k[1];
    // The last query sees all keys.
    if (unidirectional != 0 && !q[1].known() && !q[1].same(keys)) return {};
    AttentionBody body{.heads = *num_heads,
                       .causal = unidirectional != 0 && !q[1].is(1),
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
                       .filled = to.input(6) >= 0 ? to.input(8) : -1,
                       .beams = to.input(9),
                       .split_heads = k.rank() == 4,
                       .batch = q[0],
                       .keys = keys,
                       .past = to.dims(6).ranked() ? to.dims(6)[2] : Dim(),
                       .steps = q[1],
                       .mask_dims = to.dims(4),
                       .beams_dims = to.dims(9)};
    if (!body.known()) return {};
    if (q.rank() == 5) unpack(to, to.input(0), {&body.q, &body.k, &body.v});
    else if (k.rank() == 5) unpack(to, to.input(1), {&body.k, &body.v});
    if (to.input(3) >= 0) {
      const Dim width = q.rank() == 5 ? q[4] * *num_heads : q[2];
      if (!width.known()) return {};
      const int64_t n = width.value();
      const auto plus = [&](int32_t x, int64_t first, int64_t last) {
        using function_body::ints;
        return to.add(Add{}, {x, to.add(Slice{}, {to.input(3), ints(to, {first}), ints(to, {last})})});
      };
      body.q = plus(body.q, 0, n);
      if (!body.split_heads) {
        body.k = plus(body.k, n, 2 * n);
        body.v = plus(body.v, 2 * n, std::numeric_limits<int64_t>::max());
      }
    }
    return body.lower(to);
  }
  /// Over heads, and the batch. Of a bias, heads have a stretch in the addends of each of Q, K and V.
  template <class L>
  void loops(L& l) const {
    const Dims &q = l.dims(0), &mask = l.dims(4), &y = l.out(0);
    if (!q.ranked() || !y.ranked()) return;
    const int of_keys = l.dims(1).rank() == 4 ? 1 : 2;
    const Dim width = q.rank() == 5 ? q[4] * *num_heads : q[2];
    if (!l.has(3) || y[2].same(width))
      l.over({{0, 2}, {1, of_keys}, {2, of_keys}, {3, 0, 3}, {5, l.stretched(5, 1, 4)}, {6, 1}, {7, 1}},
             {{0, 2}, {1, 1}, {2, 1}, {3, 1}}, *num_heads)
          .attributes = {"num_heads"};
    // Beams read each other's past.
    if (l.has(9)) return;
    // The numbers of keys, then the first keys.
    const bool bounds = mask.rank() == 1 && mask[0].same(q[0] * 2);
    if (mask.rank() == 1 && !bounds && !mask[0].same(q[0])) return;
    l.over({{0, 0}, {1, 0}, {2, 0}, {4, 0, bounds ? 2 : 1}, {5, l.stretched(5, 0, 4)}, {6, 0}, {7, 0}},
           {{0, 0}, {1, 0}, {2, 0}, {3, 0}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  struct Sizes {
    Dim batch, steps, keys, size, value_size;
    bool known = false;
  };

  constexpr Dim by_head(Infer& i, Dim size) const {
    if ((size % *num_heads).differs(0)) i.fail(size, " numbers do not make ", *num_heads, " heads");
    return size / *num_heads;
  }

  /// The extents of Q, K and V, as far as the ranks are known.
  constexpr Sizes sizes(Infer& i) const {
    const Dims &q = i.dims(0), &k = i.dims(1), &v = i.dims(2);
    const Dim heads = *num_heads;
    const auto holds = [&](int input, int parts) {
      i.expect_extents(input, {Dim(), Dim(), heads, parts, Dim()});
      for (int n = input + 1; n < 3; ++n)
        if (i.has(n)) i.fail(i.name(n), ": ", i.name(input), " of rank 5 holds it");
    };
    if (q.rank() == 5) {
      holds(0, 3);
      return {q[0], q[1], q[1], q[4], q[4], true};
    }
    if (q.ranked() && q.rank() != 3) i.fail("query: rank ", q.rank(), ", expected 3 or 5");
    else if (!i.has(1)) i.fail("key is missing, unless query is (batch, steps, heads, 3, size)");
    if (i.failed() || !q.ranked() || !k.ranked()) return {};
    Sizes s;
    s.batch = i.unify(q[0], k[0], "batches of query and key");
    s.steps = q[1], s.size = by_head(i, q[2]);
    if (k.rank() == 5) {
      holds(1, 2);
      i.unify(k[4], s.size, "head sizes of query and key");
      s.keys = k[1], s.value_size = s.size, s.known = true;
      return s;
    }
    if (k.rank() != 3 && k.rank() != 4) i.fail("key: rank ", k.rank(), ", expected 3, 4 or 5");
    else if (!i.has(2)) i.fail("value is missing, unless key is (batch, steps, heads, 2, size)");
    if (i.failed() || !v.ranked() || !i.expect_rank(2, k.rank())) return s;
    s.batch = i.unify(s.batch, v[0], "batches of query and value");
    if (k.rank() == 4) {
      i.unify(k[1], heads, "heads");
      i.unify(v[1], heads, "heads");
      i.unify(k[3], s.size, "head sizes of query and key");
      s.value_size = v[3];
    } else {
      i.unify(k[2], q[2], "sizes of query and key");
      s.value_size = by_head(i, v[2]);
    }
    s.keys = i.unify(k[k.rank() - 2], v[k.rank() - 2], "steps of key and value");
    s.known = true;
    return s;
  }

  /// Values (batch, steps, heads * size) of the parts of one (batch, steps, heads, parts, size).
  template <class L>
  static void unpack(L& to, int32_t value, std::initializer_list<int32_t*> parts) {
    const auto count = static_cast<int64_t>(parts.size());
    const std::vector<int32_t> split =
        to.add(Split{.axis = 3, .num_outputs = count}, {value}, static_cast<int>(count));
    for (std::size_t n = 0; n < parts.size(); ++n)
      *parts.begin()[n] = function_body::reshaped(to, split[n], {0, 0, -1});
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::MultiHeadAttention)
