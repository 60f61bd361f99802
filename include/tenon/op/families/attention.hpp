// Shared by attention operators: the rules for queries, keys, values and masks, and their layouts.
#pragma once

#include <array>

#include "tenon/base/scratch.hpp"
#include "tenon/kernels/attention/attention.hpp"
#include "tenon/kernels/move/move.hpp"
#include "tenon/op/framework/attribute.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// Extents of Q (batch, heads, queries, size), K (batch, KV heads, keys, size) and V (batch, KV heads, keys,
/// value size).
struct AttentionExtents {
  Dim batch, heads, kv_heads, queries, keys, size, value_size;
};

/// The rule for inputs 0 to 2 of rank 4, or of rank 3, (batch, steps, heads * size), with the numbers of
/// heads stated.
constexpr AttentionExtents infer_attention(Infer& i, const Opt<int64_t>& heads,
                                           const Opt<int64_t>& kv_heads) {
  Dims d[3];  // of rank 4
  for (int k = 0; k < 3; ++k) {
    d[k] = i.ranked(k) ? i.dims(k) : Dims::of_rank(4);
    if (d[k].rank() == 4) continue;
    const int64_t parts = k == 0 ? *heads : *kv_heads;
    if ((d[k][2] % parts).differs(0))
      i.fail(i.name(k), ": ", d[k][2], " numbers do not make ", parts, " heads");
    d[k] = {d[k][0], parts, d[k][1], d[k][2] / parts};
  }
  const Dims &q = d[0], &k = d[1], &v = d[2];
  const AttentionExtents e{
      .batch = i.unify(i.unify(q[0], k[0], "batches of Q and K"), v[0], "batches of Q and V"),
      .heads = q[1],
      .kv_heads = i.unify(k[1], v[1], "heads of K and V"),
      .queries = q[2],
      .keys = i.unify(k[2], v[2], "steps of K and V"),
      .size = i.unify(q[3], k[3], "head sizes of Q and K"),
      .value_size = v[3]};
  if (e.kv_heads.is(0) ? e.heads.differs(0) : (e.heads % e.kv_heads).differs(0))
    i.fail(e.kv_heads, " heads of K do not serve ", e.heads, " heads of Q");
  return e;
}

/// Refuses a mask, input `mask`, that does not stretch to `scores`, (batch, heads, queries, keys). A mask
/// with fewer keys is accepted too, unless its one key holds for all of them (`one_key_for_all`).
constexpr void check_attention_mask(Infer& i, int mask, const Dims& scores, bool one_key_for_all) {
  const Dims& m = i.dims(mask);
  if (!i.has(mask) || !m.ranked()) return;
  if (m.rank() > 4) return i.fail(i.name(mask), ": rank ", m.rank(), ", expected at most 4");
  if (!one_key_for_all && !i.expect_rank_at_least(mask, 1)) return;
  for (int k = 1; k <= m.rank(); ++k) {
    const Dim d = m[m.rank() - k], s = scores[4 - k];
    const bool fits = k == 1 && !one_key_for_all ? !s.below(d) : d.is(1) || !d.differs(s);
    if (!fits) return i.fail(i.name(mask), " ", m, " does not stretch to ", scores);
  }
}

/// The layout of the heads of a tensor of these extents: of rank 4, or of rank 3 with `heads` heads.
template <class Void>
kernels::HeadRows<Void> head_rows(DType dtype, Void* data, std::span<const int64_t> e, int64_t heads) {
  if (e.size() == 4) return {dtype, data, e[1] * e[2] * e[3], e[2] * e[3], e[3]};
  return {dtype, data, e[1] * e[2], e[2] / heads, e[2]};
}

/// The extents of the sum of `scores`, (batch, heads, queries, keys), and a mask, input `mask`, which may
/// make more of any but the keys.
constexpr Dims masked_scores(Infer& i, int mask, const Dims& scores) {
  if (!i.has(mask)) return scores;
  const Dims& m = i.dims(mask);
  if (!m.ranked()) return {Dim(), Dim(), Dim(), scores[3]};
  if (m.rank() > 4) return i.fail(i.name(mask), ": rank ", m.rank(), ", expected at most 4"), scores;
  Dims all = i.broadcast(scores, m);
  if (i.failed()) return scores;
  if (all[3].differs(scores[3])) i.fail(i.name(mask), " ", m, " has more keys than ", scores);
  all[3] = scores[3];
  return all;
}

/// The rows of queries (batch, heads, queries, size), stretched to these extents.
template <class T>
kernels::HeadRows<const void> stretched_rows(Scratch& scratch, TensorView<const T> q,
                                             const std::array<int64_t, 4>& to) {
  if (std::ranges::equal(q.extents(), to)) return head_rows<const void>(dtype_of<T>, q.data(), to, to[1]);
  T* const copy = scratch.take<T>(to[0] * to[1] * to[2] * to[3]);
  int64_t from[4], dense[4], step = 1, in = 1;
  for (int d = 3; d >= 0; --d) {
    from[d] = q.extent(d) == 1 ? 0 : in, dense[d] = step;
    in *= q.extent(d), step *= to[static_cast<std::size_t>(d)];
  }
  kernels::move(dtype_of<T>, copy, {0, dense}, q.data(), {0, from}, to);
  return head_rows<const void>(dtype_of<T>, copy, to, to[1]);
}
/// Keys or values of one entry of the batch may serve all.
inline kernels::HeadRows<const void> for_batch(kernels::HeadRows<const void> rows, int64_t entries,
                                               int64_t batch) {
  if (entries == 1 && batch != 1) rows.batch = 0;
  return rows;
}

/// The layout of a mask, whose axes are the trailing ones of (batch, heads, queries, keys).
inline kernels::AttentionMask attention_mask(AnyView mask) {
  kernels::AttentionMask m;
  m.dtype = mask.dtype(), m.data = mask.data(), m.keys = 1;
  int64_t step = 1;
  for (int k = 1; k <= mask.rank(); ++k) {
    const int64_t extent = mask.extent(-k);
    if (k == 1) m.keys = extent;
    else (k == 2 ? m.row : k == 3 ? m.head : m.batch) = extent == 1 ? 0 : step;
    step *= extent;
  }
  return m;
}

/// The type of a softmax, if it is stated, is a type of floating-point numbers.
constexpr bool expect_softmax_precision(Infer& i, const Opt<int64_t>& type) {
  return !type || i.expect_choice("softmax_precision", *type,
                                  {dtype<float>, dtype<float16>, dtype<double>, dtype<bfloat16>});
}

}  // namespace tenon::TENON_ABI::op
