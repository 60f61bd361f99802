// Tokens over a cache of earlier ones: how many it holds, where they are, and which attend to which.
#pragma once

#include <algorithm>
#include <string_view>

#include "tenon/base/error.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/op/framework/infer.hpp"
#include "tenon/tensor/view.hpp"

namespace tenon::TENON_ABI::op {

struct CachedTokens {
  std::string_view op;  ///< for errors
  int64_t window;  ///< the number of nearest tokens, itself included, that a token attends to; below 0: all
  bool causal;     ///< not to later ones
  bool sliding;    ///< the cache holds the latest tokens only

  /// The rule of seqlens_k, total_sequence_length and position_ids, inputs 5, 6 and 9, after `earlier` rows
  /// of past_key, which hold the new tokens too if they are `shared`. The greatest number of tokens.
  constexpr Dim infer_lengths(Infer& i, Dim batch, Dim steps, bool shared, Dim earlier) const {
    const auto fail = [&](const auto&... text) {
      i.fail(text...);
      return Dim();
    };
    if (i.dims(5).count().differs(batch.known() ? batch : i.dims(5).count()))
      return fail("seqlens_k: ", i.dims(5), ", expected (", batch, ")");
    if (!i.expect_one(6)) return {};
    const Dim total = i.item(6);
    if (!i.expect_at_least("total_sequence_length", total, 1)) return {};
    // The presents have as many rows, so that the operands bound the memory.
    const Dim most = shared ? earlier : earlier + steps;
    if (!sliding && total.known() && most.below(total.value()))
      return fail("total_sequence_length: ", total, ", but there are ", shared ? Dim(0) : steps,
                  " new tokens and ", earlier, " rows of past_key");
    if (total.below(steps))
      return fail("total_sequence_length: ", total, ", but there are ", steps, " tokens");
    if (total.known() && steps.known() && total.differs(steps) && steps.value() > 1 && batch.differs(1))
      return fail(steps, " tokens that follow others need a batch of 1, not ", batch);
    if (i.expect_extents(9, {batch, Dim()}) && i.dims(9).ranked() && steps.known() &&
        i.dims(9)[1].below(steps.value()))
      return fail("position_ids: ", i.dims(9), ", but there are ", steps, " tokens");
    return total;
  }

  /// Refuses a number of earlier tokens and `steps` new ones, seqlen + 1 in all, of at most `total`, which
  /// the cache has room for.
  void check_length(int64_t seqlen, int64_t steps, int64_t total) const {
    const int64_t length = seqlen + 1;
    if (length < 1 || length > total)
      raise(ErrorCode::out_of_range, op, "seqlens_k has ", seqlen, ", outside of [0, ", total - 1, "]");
    if (steps != total && length < steps)
      raise(ErrorCode::out_of_range, op, "seqlens_k has ", seqlen, ", too few for ", steps, " new tokens");
  }

  /// The latest tokens that a cache of `rows` rows holds after `tokens` tokens.
  int64_t resident(int64_t tokens, int64_t rows) const {
    if (!sliding || tokens <= rows) return tokens;
    const int64_t step = rows - window + 1;
    return tokens - (tokens - rows + step - 1) / step * step;
  }

  /// The position of each token, (batch, steps), all of them rows of the angles' caches.
  const int64_t* positions(Scratch& scratch, TensorView<const int32_t> seqlens_k,
                           TensorView<const int64_t> position_ids, int64_t steps, bool prompt,
                           int64_t rows) const {
    const int64_t batch = seqlens_k.size();
    auto* positions = scratch.take<int64_t>(batch * steps);
    for (int64_t at = 0; at < batch * steps; ++at) {
      const int64_t b = at / steps, step = at % steps;
      int64_t p = prompt ? step : seqlens_k[b] + 1 - steps + step;
      if (position_ids) p = position_ids.data()[prompt ? 0 : at];
      const int64_t beyond = position_ids && prompt ? step : 0;
      if (p < 0 || p >= rows - beyond)
        raise(ErrorCode::out_of_range, op, "position ", p, beyond > 0 ? " and the next are" : " is",
              " outside of ", rows, " rows of cos_cache");
      positions[at] = p + beyond;
    }
    return positions;
  }

  /// Clears the scores (batch, heads, steps, columns) of entry b where a token does not attend, rows past the
  /// end of a prompt among them.
  template <class T>
  void hide(TensorView<T> shown, int64_t b, int64_t past, int64_t start, int64_t length) const {
    const int64_t steps = shown.extent(2), columns = shown.extent(3), lines = shown.extent(1) * steps;
    for (int64_t at = 0; at < lines; ++at) {
      T* line = shown.data() + (b * lines + at) * columns;
      const int64_t p = past + at % steps;
      const int64_t end = causal ? std::min(length, p + 1) : length;
      const int64_t begin = std::min(end, window < 0 ? start : std::max(start, p + 1 - window));
      std::fill(line, line + begin, T(0.0f));
      std::fill(line + end, line + columns, T(0.0f));
    }
  }
};

/// The rule of cos_cache and sin_cache, inputs 7 and 8, for heads of `size`.
constexpr void infer_angles(Infer& i, Dim size) {
  if (!i.has(7) || !i.has(8)) return i.fail("do_rotary needs cos_cache and sin_cache");
  if (!i.expect_rank(7, 2) || !i.expect_rank(8, 2)) return;
  i.unify(i.dims(7), i.dims(8), "extents of cos_cache and sin_cache");
  if (i.ranked(7) && size.below(i.dims(7)[1] * 2))
    i.fail("cos_cache: ", i.dims(7), " has more angles than heads of size ", size, " have pairs");
}

/// Refuses an attention_bias, input `bias`, that does not stretch to (batch, heads, steps, total) along its
/// first axes.
constexpr void check_cached_bias(Infer& i, int bias, const Dims& scores) {
  const Dims& b = i.dims(bias);
  if (!i.has(bias) || !b.ranked() || !i.expect_rank(bias, 4)) return;
  i.expect_extents(bias,
                   {b[0].is(1) ? Dim(1) : scores[0], b[1].is(1) ? Dim(1) : scores[1], scores[2], scores[3]});
}

/// Refuses a scale of a cache, input `scale`, that does not have `count` elements, or belongs to none.
constexpr void check_cache_scale(Infer& i, int scale, bool quantised, Dim count) {
  if (i.failed()) return;
  if (quantised != i.has(scale))
    return i.fail(i.name(scale), quantised ? " is missing" : " has no place without k_quant_type");
  if (i.has(scale) && i.dims(scale).count().differs(count))
    i.fail(i.name(scale), ": ", i.dims(scale), ", expected ", count, " elements");
}

/// The loops of GroupQueryAttention over heads of keys, and the batch. A query that holds all three is cut
/// only if they are of equal size. `channels`: the caches' scales are for each head and channel.
template <class L>
void add_cached_attention_loops(L& l, int64_t heads, int64_t kv_heads, bool channels) {
  const bool packed = !l.has(1);
  // The scales of a head are neighbours, whatever their extents.
  const auto scales = [&](int k) {
    if (!channels) return -1;
    const Dims& d = l.dims(k);
    int axis = 0;
    while (axis < d.rank() && d[axis].is(1)) ++axis;
    return axis;
  };
  if (!packed || heads == kv_heads)
    l.over({{0, 2, packed ? 3 : 1},
            {1, 2},
            {2, 2},
            {3, 1},
            {4, 1},
            {10, l.stretched(10, 1, 4)},
            {11, 0},
            {12, scales(12)},
            {13, scales(13)}},
           {{0, 2}, {1, 1}, {2, 1}, {3, 1}}, kv_heads)
        .attributes = {"kv_num_heads", "num_heads"};
  // The first position of a prompt holds for the whole batch.
  if (!l.has(9))
    l.over({{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {10, l.stretched(10, 0, 4)}},
           {{0, 0}, {1, 0}, {2, 0}, {3, 0}});
}

/// The multiplications of Q K' and of the product with V, if all rows of the past count.
template <class L>
double cached_attention_multiplications(const L& l) {
  const double past = l.has(3) ? l.extent(l.dims(3), 2) : 0;
  return 2 * l.elements(l.out(0)) * (past + l.extent(l.dims(0), 1));
}

/// The heads' sinks: 0 without head_sink.
template <class T>
const float* sinks_of(Scratch& scratch, TensorView<const T> head_sink, int64_t heads) {
  auto* sinks = scratch.take<float>(heads);
  for (int64_t h = 0; h < heads; ++h) sinks[h] = head_sink ? static_cast<float>(head_sink.data()[h]) : 0.0f;
  return sinks;
}

}  // namespace tenon::TENON_ABI::op
