// com.microsoft's Attention and MultiHeadAttention as functions of ONNX's Attention.
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/generator/range.hpp"
#include "tenon/op/logical/and.hpp"
#include "tenon/op/logical/greater_or_equal.hpp"
#include "tenon/op/logical/less.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/tensor/identity.hpp"
#include "tenon/op/tensor/slice.hpp"
#include "tenon/op/tensor/squeeze.hpp"
#include "tenon/op/tensor/where.hpp"

namespace tenon::TENON_ABI::op {

/// The operands as values, -1 where one is left out: q (batch, steps, heads * size), k and v likewise or
/// (batch, heads, steps, size), past of the latter form, a mask of keys, and an addend of scores.
struct AttentionBody {
  int64_t heads = 1;
  bool causal = false;
  float filter = -10000;  ///< added to the scores of masked keys
  float scale = 0;        ///< 0: 1 / sqrt(head size)
  DType type = DType::float32;
  int32_t q = -1, k = -1, v = -1, past_key = -1, past_value = -1, mask = -1, bias = -1;
  bool split_heads = false;  ///< k and v are of rank 4
  Dim batch, keys, past;     ///< extents as far as they are known
  Dims mask_dims;

  /// Whether the extents suffice for `lower`.
  bool known() const {
    return mask < 0 || mask_dims.rank() > 1 || (mask_dims.ranked() && mask_dims[0].known() && batch.known());
  }
  /// Adds nodes, and returns the results: Y, the keys, the values, the masked scores.
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    using namespace function_body;
    op::Attention attention{.is_causal = causal ? 1 : 0};
    if (scale != 0) attention.scale = scale;
    const int32_t addend = scores_addend(to);
    int32_t query = q;
    if (split_heads) query = by_heads(to, q);
    else attention.q_num_heads = attention.kv_num_heads = heads;
    int32_t y = to.add(attention, {query, k, v, addend, past_key, past_value});
    if (split_heads) y = reshaped(to, transposed(to, y, {0, 2, 1, 3}), {0, 0, -1});
    attention.qk_matmul_output_mode = 2;
    const int32_t scores = to.add(attention, {query, k, v, addend, past_key, past_value}, 4)[3];
    return {y, present(to, past_key, k), present(to, past_value, v), scores};
  }

 private:
  template <class L>
  int32_t by_heads(L& to, int32_t x) const {
    return function_body::transposed(to, function_body::reshaped(to, x, {0, 0, heads, -1}), {0, 2, 1, 3});
  }
  template <class L>
  int32_t present(L& to, int32_t earlier, int32_t x) const {
    const int32_t fresh = split_heads ? x : by_heads(to, x);
    if (earlier >= 0) return to.add(Concat{.axis = 2}, {earlier, fresh});
    return split_heads ? to.add(Identity{}, {fresh}) : fresh;
  }
  /// What is added to the scores: the mask's numbers and the bias.
  template <class L>
  int32_t scores_addend(L& to) const {
    using namespace function_body;
    if (mask < 0) return bias;
    int32_t seen = -1;
    if (mask_dims.rank() == 1) {
      int32_t last = extent(to, k, keys, split_heads ? 2 : 1);
      if (past_key >= 0) last = to.add(Add{}, {last, extent(to, past_key, past, 2)});
      const int32_t places =
          to.add(Range{}, {number(to, DType::int64, 0), to.add(Squeeze{}, {last, ints(to, {0})}),
                           number(to, DType::int64, 1)});
      const int32_t places32 = converted(to, places, DType::int64, DType::int32);
      const int64_t n = batch.value();
      const auto bound = [&](int64_t first) {
        return unsqueezed(to, to.add(Slice{}, {mask, ints(to, {first}), ints(to, {first + n})}), {1});
      };
      seen = to.add(Less{}, {places32, bound(0)});
      if (mask_dims[0].is(2 * n))
        seen = to.add(And{}, {seen, to.add(GreaterOrEqual{}, {places32, bound(n)})});
    } else {
      seen = converted(to, mask, DType::int32, DType::bool_);
    }
    seen = unsqueezed(to, seen, mask_dims.rank() == 3 ? Ints{1} : Ints{1, 2});
    const int32_t addend =
        to.add(Where{}, {seen, number(to, type, 0), number(to, type, static_cast<double>(filter))});
    return bias < 0 ? addend : to.add(Add{}, {addend, bias});
  }
};

/// Refuses a mask of keys that does not fit.
constexpr void check_key_mask(Infer& i, int input, Dim batch, Dim queries, Dim keys) {
  const Dims& m = i.dims(input);
  if (!i.has(input) || !m.ranked()) return;
  if (m.rank() < 1 || m.rank() > 3) return i.fail(i.name(input), ": rank ", m.rank(), ", expected 1, 2 or 3");
  if (m.rank() == 2) i.expect_extents(input, {batch, keys});
  if (m.rank() == 3) i.expect_extents(input, {batch, queries, keys});
  if (m.rank() == 1 && m[0].known() && batch.known()) {
    const int64_t n = batch.value(), have = m[0].value();
    if (have != n && have != 2 * n && have != 3 * n + 2)
      i.fail(i.name(input), ": ", m, ", expected ", n, ", ", 2 * n, " or ", 3 * n + 2, " numbers");
  }
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

}  // namespace tenon::TENON_ABI::op
