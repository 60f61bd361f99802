// com.microsoft's Attention and MultiHeadAttention as functions of ONNX's Attention.
#pragma once

#include <cmath>
#include <limits>

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/generator/range.hpp"
#include "tenon/op/logical/and.hpp"
#include "tenon/op/logical/equal.hpp"
#include "tenon/op/logical/greater.hpp"
#include "tenon/op/logical/greater_or_equal.hpp"
#include "tenon/op/logical/less.hpp"
#include "tenon/op/logical/or.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/expand.hpp"
#include "tenon/op/math/max.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/nn/flatten.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/gather_elements.hpp"
#include "tenon/op/tensor/identity.hpp"
#include "tenon/op/tensor/slice.hpp"
#include "tenon/op/tensor/split.hpp"
#include "tenon/op/tensor/squeeze.hpp"
#include "tenon/op/tensor/tensor_scatter.hpp"
#include "tenon/op/tensor/where.hpp"

namespace tenon::TENON_ABI::op {

/// The operands as values, -1 where one is left out: q (batch, steps, heads * size), k and v likewise or
/// (batch, heads, steps, size), past of the latter form, a mask of keys, and an addend of scores.
struct AttentionBody {
  int64_t heads = 1;
  bool causal = false;    ///< keys after the query's place are hidden, but none from the last query
  float filter = -10000;  ///< added to the scores of masked keys
  float scale = 0;        ///< 0: 1 / sqrt(head size)
  DType type = DType::float32;
  int32_t q = -1, k = -1, v = -1, past_key = -1, past_value = -1, mask = -1, bias = -1;
  int32_t filled = -1;  ///< an int32: the steps of the past that count; the present has as many as the past
  /// With `filled`, of an int32 (groups, width, past): the entry of the group, of width entries of the batch,
  /// whose past has the step.
  int32_t beams = -1;
  bool split_heads = false;       ///< k and v are of rank 4
  bool one_column_shows = false;  ///< a mask of one column hides nothing
  Dim batch{}, keys{}, past{};    ///< extents as far as they are known
  Dim steps{};                    ///< of q; unknown: as many as keys
  Dims mask_dims{}, beams_dims{};
  /// If k and v have the past in their first rows, which `lower` writes there: the past steps, the new ones,
  /// and their sum for each entry of the batch.
  int32_t held = -1, own = -1, ends = -1;

  /// Whether the extents suffice for `lower`.
  bool known() const {
    return mask < 0 || mask_dims.rank() > 1 ||
           (mask_dims.rank() == 1 && mask_dims[0].known() && batch.known());
  }
  /// Adds nodes, and returns the results: Y, the keys, the values, the masked scores.
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    using namespace function_body;
    if (filled >= 0) return lower_filled(to);
    if (needs_float()) return lower_in_float(to);
    const bool is_causal = causal && !causal_by_mask();
    op::Attention attention{.is_causal = is_causal ? 1 : 0};
    if (scale != 0) attention.scale = scale;
    const int32_t addend = scores_addend(to);
    int32_t query = q;
    if (split_heads) query = by_heads(to, q);
    else attention.q_num_heads = attention.kv_num_heads = heads;
    const auto attend = [&](int results) {
      if (ends < 0) return to.add(attention, {query, k, v, addend, past_key, past_value}, results);
      return to.add(attention, {query, k, v, addend, -1, -1, ends}, results);
    };
    std::vector<int32_t> made = attend(ends < 0 ? 3 : 1);
    int32_t y = made[0];
    if (split_heads) y = reshaped(to, transposed(to, y, {0, 2, 1, 3}), {0, 0, -1});
    made.resize(3, -1);
    attention.qk_matmul_output_mode = 2;
    int32_t scores = attend(4)[3];
    if (ends >= 0) scores = to.add(Slice{}, {scores, ints(to, {0}), all_keys(to), ints(to, {3})});
    // ONNX Runtime shows keys that come later with the least float.
    if (is_causal && type == DType::float32) scores = to.add(Max{}, {scores, number(to, type, least)});
    return {y, made[1], made[2], scores};
  }

 private:
  /// What ONNX Runtime adds to the scores of hidden keys.
  static constexpr float least = std::numeric_limits<float>::lowest();

  /// Whether the addend of the scores hides keys. is_causal would hide keys from the last query too, if there
  /// are more keys than queries; and it would not let hidden keys count as much as those that the mask gives
  /// the least float.
  bool causal_by_mask() const {
    const bool more =
        steps.known() && (ends >= 0 ? !keys.same(steps) : !keys.known() || keys.value() > steps.value());
    return causal && !batch.is(0) && (more || (mask >= 0 && filter <= least));
  }
  /// Whether the addend of the scores needs a wider type than `type`, as ONNX Runtime computes halves in
  /// float: a filter of -infinity would give zeros for a query whose keys are all masked, not the values'
  /// mean; and a bias would lose its digits in the sum with the filter.
  bool needs_float() const {
    bool overflows = false;
    if (mask >= 0)
      visit_types<float16, bfloat16>(
          type, [&]<class T>() { overflows = !std::isfinite(static_cast<float>(T(filter))); });
    return mask >= 0 && type != DType::float32 && (overflows || bias >= 0);
  }
  template <class L>
  std::vector<int32_t> lower_in_float(L& to) const {
    using function_body::converted;
    AttentionBody wide = *this;
    wide.type = DType::float32;
    for (int32_t* x : {&wide.q, &wide.k, &wide.v, &wide.past_key, &wide.past_value, &wide.bias})
      if (*x >= 0) *x = converted(to, *x, type, DType::float32);
    std::vector<int32_t> made = wide.lower(to);
    for (int32_t& x : made)
      if (x >= 0) x = converted(to, x, DType::float32, type);
    return made;
  }
  /// The new steps are written to the past, and attend to these and the steps before them.
  template <class L>
  std::vector<int32_t> lower_filled(L& to) const {
    using namespace function_body;
    const int32_t entries = extent(to, q, batch, 0);
    AttentionBody joined = *this;
    joined.filled = joined.beams = -1, joined.past = Dim(), joined.past_key = joined.past_value = -1;
    joined.held = reshaped(to, converted(to, filled, DType::int32, DType::int64), {1});
    joined.own = extent(to, k, keys, split_heads ? 2 : 1);
    const int32_t all = joined.all_keys(to), counts = to.add(Expand{}, {joined.held, entries});
    joined.ends = to.add(Expand{}, {all, entries});
    joined.split_heads = true;
    const int32_t places = beams >= 0 ? rows_of_beams(to, entries, joined.held, joined.own, all) : -1;
    const auto written = [&](int32_t past, int32_t& x) {
      const int32_t rows =
          to.add(TensorScatter{.axis = 2}, {past, split_heads ? x : by_heads(to, x), counts});
      x = beams >= 0 ? to.add(Gather{}, {to.add(Flatten{.axis = 3}, {rows}), places}) : rows;
      return rows;
    };
    const int32_t present_key = written(past_key, joined.k), present_value = written(past_value, joined.v);
    const std::vector<int32_t> made = joined.lower(to);
    return {made[0], present_key, present_value, made[3]};
  }
  /// Where the rows (batch, heads, all keys) are among those of (batch, heads, past): the earlier steps of
  /// the entries that `beams` names, and then the entries' own steps.
  template <class L>
  int32_t rows_of_beams(L& to, int32_t entries, int32_t held, int32_t fresh, int32_t all) const {
    using namespace function_body;
    const int32_t numbers = range(to, entries);
    const int32_t groups = to.add(Concat{.axis = 0}, {ints(to, {-1}), extent(to, beams, beams_dims[1], 1)});
    const int32_t named =
        to.add(GatherElements{.axis = 1}, {to.add(Reshape{}, {numbers, groups}), to.add(Flatten{}, {beams})});
    const int32_t rows = extent(to, past_key, past, 2);
    const int32_t earlier =
        to.add(Slice{}, {to.add(Reshape{}, {named, to.add(Concat{.axis = 0}, {entries, rows})}),
                         ints(to, {0}), held, ints(to, {1})});
    const int32_t own_entries =
        to.add(Expand{}, {unsqueezed(to, numbers, {1}), to.add(Concat{.axis = 0}, {entries, fresh})});
    const int32_t entry = unsqueezed(to, to.add(Concat{.axis = 1}, {earlier, own_entries}), {1});
    Tensor<int64_t> each({heads, 1});
    for (int64_t h = 0; h < heads; ++h) each[h] = h;
    const int32_t head = to.add(Add{}, {to.add(Mul{}, {entry, ints(to, {heads})}), to.constant(each)});
    return to.add(Add{}, {to.add(Mul{}, {head, rows}), range(to, all)});
  }
  template <class L>
  int32_t by_heads(L& to, int32_t x) const {
    return function_body::transposed(to, function_body::reshaped(to, x, {0, 0, heads, -1}), {0, 2, 1, 3});
  }
  /// How many keys there are, past included.
  template <class L>
  int32_t all_keys(L& to) const {
    const int32_t fresh = own >= 0 ? own : function_body::extent(to, k, keys, split_heads ? 2 : 1);
    return past_key < 0 && held < 0 ? fresh : to.add(Add{}, {fresh, past_steps(to)});
  }
  template <class L>
  int32_t past_steps(L& to) const {
    return held >= 0 ? held : function_body::extent(to, past_key, past, 2);
  }
  /// The numbers of the keys.
  template <class L>
  int32_t places(L& to) const {
    return range(to, all_keys(to));
  }
  template <class L>
  static int32_t range(L& to, int32_t count) {
    using namespace function_body;
    return to.add(Range{}, {number(to, DType::int64, 0), to.add(Squeeze{}, {count, ints(to, {0})}),
                            number(to, DType::int64, 1)});
  }
  template <class L>
  int32_t has_one_column(L& to) const {
    using namespace function_body;
    return to.add(Equal{}, {extent(to, mask, Dim(), 1), ints(to, {1})});
  }
  /// Whether the mask shows a key, of extents that stretch to (batch, heads, queries, keys).
  template <class L>
  int32_t seen(L& to) const {
    using namespace function_body;
    if (mask_dims.rank() > 1) {
      int32_t shown = to.add(Greater{}, {mask, number(to, DType::int32, 0)});
      if (mask_dims.rank() == 2 && one_column_shows && !mask_dims[1].known())
        shown = to.add(Or{}, {shown, to.add(Expand{}, {has_one_column(to), all_keys(to)})});
      return unsqueezed(to, shown, mask_dims.rank() == 3 ? Ints{1} : Ints{1, 2});
    }
    const int32_t places32 = converted(to, places(to), DType::int64, DType::int32);
    const int64_t n = batch.value();
    const auto bound = [&](int64_t first) {
      return unsqueezed(to, to.add(Slice{}, {mask, ints(to, {first}), ints(to, {first + n})}), {1});
    };
    int32_t shown = to.add(Less{}, {places32, bound(0)});
    if (mask_dims[0].same(batch * 2))
      shown = to.add(And{}, {shown, to.add(GreaterOrEqual{}, {places32, bound(n)})});
    return unsqueezed(to, shown, {1, 2});
  }
  /// Whether a key, (queries, keys), comes after the query's place, of queries before the last.
  template <class L>
  int32_t hidden(L& to) const {
    using namespace function_body;
    int32_t place = range(to, extent(to, q, steps, 1));
    if (steps.known()) {
      const int32_t last = number(to, DType::int64, static_cast<double>(steps.value() - 1)),
                    end = number(to, DType::int64, 0x1p62);
      place = to.add(Where{}, {to.add(Less{}, {place, last}), place, end});
    }
    if (past_key >= 0 || held >= 0) place = to.add(Add{}, {place, past_steps(to)});
    return to.add(Less{}, {unsqueezed(to, place, {1}), places(to)});
  }
  /// The addend of the scores: the mask's numbers and the bias.
  template <class L>
  int32_t scores_addend(L& to) const {
    using namespace function_body;
    int32_t addend = -1;
    if (mask >= 0) addend = to.add(Where{}, {seen(to), number(to, type, 0), number(to, type, filter)});
    if (causal_by_mask())
      addend =
          to.add(Where{}, {hidden(to), number(to, type, least), addend < 0 ? number(to, type, 0) : addend});
    if (addend < 0) return bias;
    return bias < 0 ? addend : to.add(Add{}, {addend, bias});
  }
};

/// Whether a mask of keys has one column, for each entry of the batch or for all: it changes all scores
/// alike.
constexpr bool masks_nothing(const Dims& mask, Dim batch) {
  return mask.rank() == 2 && mask[1].is(1) && (mask[0].is(1) || !mask[0].differs(batch));
}

/// Refuses a mask of keys that does not fit.
constexpr void check_key_mask(Infer& i, int input, Dim batch, Dim queries, Dim keys) {
  const Dims& m = i.dims(input);
  if (!i.has(input) || !m.ranked()) return;
  if (m.rank() == 4) return i.fail(i.name(input), ": masks of rank 4 are not supported: pass attention_bias");
  if (m.rank() < 1 || m.rank() > 3) return i.fail(i.name(input), ": rank ", m.rank(), ", expected 1, 2 or 3");
  if (m.rank() == 2) i.expect_extents(input, {batch, keys});
  if (m.rank() == 3) i.expect_extents(input, {batch, queries, keys});
  if (m.rank() == 1 && m[0].differs(batch) && m[0].differs(batch * 2) && m[0].differs(batch * 3 + 2))
    i.fail(i.name(input), ": ", m, ", expected ", batch, ", ", batch * 2, " or ", batch * 3 + 2, " numbers");
}

/// Refuses beams, (groups, width, past) for a batch of groups * width entries, that do not fit.
constexpr void check_beams(Infer& i, int input, Dim batch, Dim past) {
  const Dims& b = i.dims(input);
  if (!i.has(input) || !b.ranked() || !i.expect_rank(input, 3)) return;
  if (b[1].is(0) || (b[0] * b[1]).differs(batch))
    return i.fail(i.name(input), ": ", b, " does not divide a batch of ", batch);
  i.expect_extents(input, {Dim(), Dim(), past});
}

/// Refuses an addend of scores that does not stretch to (batch, heads, queries, keys) along its first axes.
constexpr void check_scores_bias(Infer& i, int input, const Dims& scores) {
  const Dims& b = i.dims(input);
  if (!i.has(input) || !b.ranked()) return;
  if (!i.expect_rank(input, 4)) return;
  for (int k = 0; k < 4; ++k)
    if (b[k].differs(scores[k]) && !(k < 2 && b[k].is(1)))
      return i.fail(i.name(input), " ", b, " does not stretch to ", scores);
}

/// The operands of an attention that projects its input, by their numbers.
struct ProjectedAttention {
  static constexpr int none = 100;  ///< no input has that number

  int weights = 1, bias = 2, mask = 3, past = 4, scores_bias = none;
  int64_t heads = 0;
  Ints sizes{};                         ///< of Q, K and V; empty: equal ones
  bool rotary = false, shared = false;  ///< do_rotary, past_present_share_buffer: refused

  struct Parts {
    Dim q, k, v;
  };
  /// The sizes, given the projection's.
  constexpr Parts parts(Dim all) const {
    if (sizes.size() == 3) return {sizes[0], sizes[1], sizes[2]};
    return {all / 3, all / 3, all / 3};
  }
};

/// The rule of input (batch, steps, size), number 0, weights (size, Q + K + V), and `present`, result 1.
constexpr void infer_projected_attention(Infer& i, const ProjectedAttention& o) {
  if (o.rotary) return i.fail("do_rotary is not supported: use RotaryEmbedding and MultiHeadAttention");
  if (!i.expect_at_least("num_heads", o.heads, 1)) return;
  if (!i.expect_rank(0, 3) || !i.expect_rank(o.weights, 2)) return;
  if (!o.sizes.empty()) {
    if (!i.expect_entries("qkv_hidden_sizes", o.sizes.size(), 3)) return;
    for (const int64_t size : o.sizes)
      if (!i.expect_at_least("qkv_hidden_sizes", size, 0)) return;
  }
  if (i.has(o.past) && i.has(o.scores_bias))
    return i.fail("past together with attention_bias is not supported: use MultiHeadAttention");
  if (o.shared && i.has(o.past))
    return i.fail("a past that shares present's memory is not supported: use MultiHeadAttention");
  const Dims &x = i.dims(0), &w = i.dims(o.weights), &past = i.dims(o.past);
  if (!x.ranked() || !w.ranked()) return;
  i.unify(x[2], w[0], "inner extents");
  if (i.has(o.bias) && (!i.expect_rank(o.bias, 1) || !i.expect_extents(o.bias, {w[1]}))) return;
  if (o.sizes.empty() && (w[1] % 3).differs(0)) return i.fail("weights ", w, " are not for Q, K and V");
  const auto [q, k, v] = o.parts(w[1]);
  if ((q + k + v).differs(w[1])) return i.fail("weights ", w, " are not of the sizes of Q, K and V");
  for (const Dim size : {q, k, v})
    if ((size % o.heads).differs(0)) return i.fail(size, " numbers do not make ", o.heads, " heads");
  i.unify(q, k, "sizes of Q and K");
  if ((i.has(o.past) || i.outputs() > 1) && v.differs(k))
    return i.fail("past and present need equal sizes of K and V");
  const Dim heads = o.heads, size = v / o.heads;
  Dim all = x[1];
  if (i.has(o.past)) {
    if (!i.expect_rank(o.past, 5) || !i.expect_extents(o.past, {2, x[0], heads, Dim(), size})) return;
    i.for_runs([&] {
      if (i.outputs() < 2) i.fail("past needs present");
    });
    all = past.ranked() ? past[3] + x[1] : Dim();
  }
  if (!masks_nothing(i.dims(o.mask), x[0])) check_key_mask(i, o.mask, x[0], x[1], all);
  check_scores_bias(i, o.scores_bias, {x[0], heads, x[1], all});
  i.out(0, {x[0], x[1], v});
  i.out(1, {2, x[0], heads, all, size});
}

/// The loops over heads, whose columns lie in each of three equal parts, and over the batch. `scales`: other
/// operands that may have an element for each column.
template <class L>
void add_projected_attention_loops(L& l, const ProjectedAttention& o,
                                   std::initializer_list<int> scales = {}) {
  if (o.sizes.empty()) {
    typename L::Axes in{
        {o.weights, 1, 3}, {o.bias, 0, 3}, {o.past, 2}, {o.scores_bias, l.stretched(o.scores_bias, 1, 4)}};
    for (const int scale : scales) in.push_back({scale, l.stretched(scale, 0, 1), 3});
    l.over(std::move(in), {{0, 2}, {1, 2}}, o.heads).attributes = {"num_heads"};
  }
  const Dims &x = l.dims(0), &mask = l.dims(o.mask);
  if (!x.ranked() || (l.has(o.mask) && !mask.ranked())) return;
  // The numbers of keys, then the first keys.
  const bool bounds = mask.rank() == 1 && mask[0].same(x[0] * 2);
  if (mask.rank() == 1 && !bounds && !mask[0].same(x[0])) return;
  l.over({{0, 0},
          {o.mask, l.stretched(o.mask, 0, mask.rank()), bounds ? 2 : 1},
          {o.past, 1},
          {o.scores_bias, l.stretched(o.scores_bias, 0, 4)}},
         {{0, 0}, {1, 1}});
}

/// The nodes of an attention whose Q, K and V are parts of the value `all`; `body` has what attributes state.
template <class L>
std::vector<int32_t> projected_attention(L& to, const ProjectedAttention& o, int32_t all,
                                         AttentionBody body) {
  using namespace function_body;
  const Dims &x = to.dims(0), &w = to.dims(o.weights), &past = to.dims(o.past);
  if (!x.ranked() || !w.ranked() || !w[1].known()) return {};
  body.heads = o.heads;
  body.mask = masks_nothing(to.dims(o.mask), x[0]) ? -1 : to.input(o.mask);
  body.one_column_shows = true;
  body.bias = to.input(o.scores_bias);
  body.batch = x[0], body.keys = x[1], body.past = past.ranked() ? past[3] : Dim();
  body.mask_dims = to.dims(o.mask);
  if (!body.known()) return {};
  const auto [q, k, v] = o.parts(w[1]);
  const std::vector<int32_t> parts =
      to.add(Split{.axis = 2}, {all, ints(to, {q.value(), k.value(), v.value()})}, 3);
  body.q = parts[0], body.k = parts[1], body.v = parts[2];
  if (to.input(o.past) >= 0) {
    body.past_key = to.add(Gather{}, {to.input(o.past), number(to, DType::int64, 0)});
    body.past_value = to.add(Gather{}, {to.input(o.past), number(to, DType::int64, 1)});
  }
  const std::vector<int32_t> made = body.lower(to);
  if (!k.same(v)) return {made[0], made[1]};  // without equal sizes there is no `present`
  return {made[0], to.add(Concat{.axis = 0}, {unsqueezed(to, made[1], {0}), unsqueezed(to, made[2], {0})})};
}

}  // namespace tenon::TENON_ABI::op
