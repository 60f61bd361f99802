// Attention: scaled dot products of queries and keys weigh values.
// onnx.ai/onnx/operators/onnx__Attention.html
#pragma once

#include "tenon/kernels/move/move.hpp"
#include "tenon/op/families/attention.hpp"

namespace tenon::TENON_ABI::op {

namespace attention_detail {

/// Writes all of `past`, if there is one, then `fresh`, along the steps of `present` (batch, heads, steps,
/// size).
inline void append(AnyView past, AnyView fresh, const kernels::HeadRows<const void>& rows, AnyOut present) {
  if (present.empty()) return;
  const int64_t batch = present.extent(0), heads = present.extent(1), steps = present.extent(2),
                size = present.extent(3), earlier = past ? past.extent(2) : 0;
  const int64_t to[4] = {heads * steps * size, steps * size, size, 1};
  const int64_t of_past[4] = {heads * earlier * size, earlier * size, size, 1},
                of_fresh[4] = {rows.batch, rows.head, rows.row, 1};
  const int64_t held[4] = {batch, heads, earlier, size}, added[4] = {batch, heads, steps - earlier, size};
  if (past) kernels::move(fresh.dtype(), present.data(), {0, to}, past.data(), {0, of_past}, held);
  kernels::move(fresh.dtype(), present.data(), {earlier * size, to}, fresh.data(), {0, of_fresh}, added);
}

}  // namespace attention_detail

/// Y = softmax(Q K^T * scale, capped, + attn_mask) V for each head; scale is 1 / sqrt(head size) by default,
/// softcap c caps scores as c tanh(score / c). Q is (batch, heads, queries, size), K and V (batch, KV heads,
/// keys, size or value size), Y as Q with the value size; or all of rank 3, (batch, steps, heads * size),
/// with q_num_heads and kv_num_heads stated. Each KV head serves heads / KV heads query heads in their order.
/// past_key and past_value (batch, KV heads, steps, size) precede K and V; present_key and present_value are
/// the concatenations. attn_mask stretches to (batch, heads, queries, keys); keys past its end are masked.
/// The position of query i is i + the number of past steps. With nonpad_kv_seqlen, only that many keys of an
/// entry of the batch count, and the position is i + that number - queries. is_causal forbids keys after the
/// position; left_window_size and right_window_size forbid keys further away (-1: none). Queries without a
/// key give zeros. qk_matmul_output is Q K^T * scale (mode 0), that capped (1), masked (2) or after the
/// softmax (3).
/// op::Attention{}(q, k, v) of (2,9,4,8), (2,3,6,8) and (2,3,6,5) gives (2,9,4,5).
struct Attention {
  int64_t is_causal = 0;
  Opt<int64_t> kv_num_heads{};
  int64_t left_window_size = -1;
  Opt<int64_t> q_num_heads{};
  int64_t qk_matmul_output_mode = 0;
  int64_t right_window_size = -1;
  Opt<float> scale{};
  float softcap = 0;
  Opt<int64_t> softmax_precision{};
  /// Whether a mask of one key holds for all keys, as in the function of version 23; later, keys past the
  /// mask's end are masked. A version's switch, not an attribute.
  bool mask_stretches = false;

  static constexpr Spec spec{
      .name = "Attention",
      .since = {23, 24, 25},
      .inputs = {{"Q", "T1"},
                 {"K", "T1"},
                 {"V", "T2"},
                 {"attn_mask", "U", optional},
                 {"past_key", "T1", optional},
                 {"past_value", "T2", optional},
                 {.name = "nonpad_kv_seqlen", .type = "tensor(int64)", .arity = optional, .since = 24}},
      .outputs = {{"Y", "T1"},
                  {"present_key", "T1", optional},
                  {"present_value", "T2", optional},
                  {"qk_matmul_output", "T1", optional}},
      .types = {{"T1", types::floats_bf16},
                {"T2", types::floats_bf16},
                {"U", types::numeric_bf16 | types::boolean}}};
  static constexpr Attributes attributes{attr("is_causal", &Attention::is_causal),
                                         attr("kv_num_heads", &Attention::kv_num_heads),
                                         attr("left_window_size", &Attention::left_window_size).since(25),
                                         attr("q_num_heads", &Attention::q_num_heads),
                                         attr("qk_matmul_output_mode", &Attention::qk_matmul_output_mode),
                                         attr("right_window_size", &Attention::right_window_size).since(25),
                                         attr("scale", &Attention::scale),
                                         attr("softcap", &Attention::softcap),
                                         attr("softmax_precision", &Attention::softmax_precision),
                                         initially(&Attention::mask_stretches, true).until(23)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("is_causal", is_causal, {0, 1}) ||
        !i.expect_choice("qk_matmul_output_mode", qk_matmul_output_mode, {0, 1, 2, 3}) ||
        !i.expect_at_least("left_window_size", left_window_size, -1) ||
        !i.expect_at_least("right_window_size", right_window_size, -1))
      return;
    if (!(softcap >= 0)) return i.fail("softcap is negative");
    if (i.version() >= 25 && i.outputs() == 2) return i.fail("present_key and present_value come together");
    if (!expect_softmax_precision(i, softmax_precision)) return;
    int rank = 0;
    for (int k = 0; k < 3; ++k) {
      const Dims& d = i.dims(k);
      if (!d.ranked()) continue;
      if (d.rank() != 3 && d.rank() != 4) return i.fail(i.name(k), ": rank ", d.rank(), ", expected 3 or 4");
      if (rank != 0 && !i.expect_rank(k, rank)) return;
      rank = d.rank();
    }
    if (i.version() >= 25 && rank == 4 && (q_num_heads || kv_num_heads))
      return i.fail("rank 4 has its heads on axis 1: q_num_heads and kv_num_heads must not be given");
    if (rank == 3) {
      if (!q_num_heads || !kv_num_heads) return i.fail("rank 3 needs q_num_heads and kv_num_heads");
      if (!i.expect_at_least("q_num_heads", *q_num_heads, 1) ||
          !i.expect_at_least("kv_num_heads", *kv_num_heads, 1))
        return;
    }
    const AttentionExtents e = infer_attention(i, q_num_heads, kv_num_heads);
    if (i.failed()) return;
    Dim keys = e.keys;
    if (i.has(4) != i.has(5)) return i.fail("past_key and past_value come together");
    if (i.has(4)) {
      if (!i.expect_rank(4, 4) || !i.expect_rank(5, 4)) return;
      const Dim past = i.unify(i.dims(4).ranked() ? i.dims(4)[2] : Dim(),
                               i.dims(5).ranked() ? i.dims(5)[2] : Dim(), "steps of past_key and past_value");
      i.expect_extents(4, {e.batch, e.kv_heads, past, e.size});
      i.expect_extents(5, {e.batch, e.kv_heads, past, e.value_size});
      keys = past + e.keys;
    }
    if (i.has(6)) {
      if (i.has(4)) return i.fail("nonpad_kv_seqlen is of keys that hold the past, so past_key has no place");
      i.expect_extents(6, {e.batch});
    }
    check_attention_mask(i, 3, {e.batch, e.heads, e.queries, keys}, mask_stretches);
    if (rank == 0) return;
    if (rank == 3) i.out(0, {e.batch, e.queries, e.heads * e.value_size});
    else i.out(0, {e.batch, e.heads, e.queries, e.value_size});
    i.out(1, {e.batch, e.kv_heads, keys, e.size});
    i.out(2, {e.batch, e.kv_heads, keys, e.value_size});
    i.out(3, {e.batch, e.heads, e.queries, keys});
  }
  /// Error{out_of_range} for an element of nonpad_kv_seqlen below 0 or above the number of keys.
  template <class T>
  void compute(TensorView<const T> q, TensorView<const T> k, AnyView v, AnyView attn_mask,
               TensorView<const T> past_key, AnyView past_value, TensorView<const int64_t> nonpad_kv_seqlen,
               TensorView<T> y, TensorView<T> present_key, AnyOut present_value,
               TensorView<T> qk_matmul_output) const {
    const bool packed = q.rank() == 3;
    const int64_t heads = packed ? *q_num_heads : q.extent(1),
                  kv_heads = packed ? *kv_num_heads : k.extent(1);
    const int64_t keys = k.extent(-2) + (past_key ? past_key.extent(2) : 0);
    for (int64_t n : nonpad_kv_seqlen)
      if (n < 0 || n > keys)
        raise(ErrorCode::out_of_range, spec.name, "nonpad_kv_seqlen has ", n, ", but there are ", keys,
              " keys");
    // Without elements, extents may be of any size.
    if (y.empty() && present_key.empty() && present_value.empty() && qk_matmul_output.empty()) return;
    constexpr DType t = dtype_of<T>;
    kernels::AttentionArgs a;
    a.batch = q.extent(0), a.heads = heads, a.kv_heads = kv_heads;
    a.queries = q.extent(-2);
    a.size = q.extent(-1) / (packed ? heads : 1);
    a.value_size = v.extent(-1) / (packed ? kv_heads : 1);
    kernels::AttentionPart parts[2];  // the past, which may be absent, and the new keys
    parts[1] = {head_rows<const void>(t, k.data(), k.extents(), kv_heads),
                head_rows<const void>(v.dtype(), v.data(), v.extents(), kv_heads), k.extent(-2)};
    attention_detail::append(past_key, k, parts[1].k, present_key);
    attention_detail::append(past_value, v, parts[1].v, present_value);
    if (y.empty() && qk_matmul_output.empty()) return;
    a.q = head_rows<const void>(t, q.data(), q.extents(), heads);
    a.y = head_rows<void>(t, y.data(), y.extents(), heads);
    if (past_key) {
      a.offset = past_key.extent(2);
      parts[0] = {head_rows<const void>(t, past_key.data(), past_key.extents(), kv_heads),
                  head_rows<const void>(v.dtype(), past_value.data(), past_value.extents(), kv_heads),
                  a.offset};
    }
    a.parts = parts;

    a.scale = scale ? static_cast<double>(*scale) : 1 / std::sqrt(static_cast<double>(a.size));
    a.softcap = softcap;
    a.left = left_window_size;
    a.right = is_causal != 0 ? 0 : right_window_size;
    Scratch scratch;
    if (nonpad_kv_seqlen) {
      auto* offsets = scratch.take<int64_t>(a.batch);
      for (int64_t b = 0; b < a.batch; ++b) offsets[b] = nonpad_kv_seqlen[b] - a.queries;
      a.offsets = offsets;
      a.ends = nonpad_kv_seqlen.data();
    }
    if (attn_mask) a.mask = attention_mask(attn_mask);
    a.mask.stretched = mask_stretches && a.mask.keys == 1 && keys > 0;
    if (softmax_precision && dtype_from_onnx(*softmax_precision) != t)
      a.softmax_type = dtype_from_onnx(*softmax_precision);
    if (qk_matmul_output)
      a.scores = head_rows<void>(t, qk_matmul_output.data(), qk_matmul_output.extents(), heads);
    a.scores_kind = static_cast<kernels::AttentionScores>(qk_matmul_output_mode);
    kernels::attention<compute_t<T>>(a);
  }
  template <class L>
  void loops(L& l) const {
    const bool packed = l.dims(0).rank() == 3;
    if (packed ? !kv_num_heads || !q_num_heads : l.dims(0).rank() != 4) return;
    const int heads = packed ? 2 : 1;
    const Dim count = packed ? Dim(*kv_num_heads) : l.dims(1).ranked() ? l.dims(1)[1] : Dim();
    auto& loop = l.over({{0, heads}, {1, heads}, {2, heads}, {3, l.stretched(3, 1, 4)}, {4, 1}, {5, 1}},
                        {{0, heads}, {1, 1}, {2, 1}, {3, 1}}, count);
    if (packed) loop.attributes = {"q_num_heads", "kv_num_heads"};
    l.over({{0, 0}, {1, 0}, {2, 0}, {3, l.stretched(3, 0, 4)}, {4, 0}, {5, 0}, {6, 0}},
           {{0, 0}, {1, 0}, {2, 0}, {3, 0}});
  }
  /// Of Q K' and of the product with V.
  template <class L>
  double multiplications(const L& l) const {
    const double past = l.has(4) ? l.extent(l.dims(4), 2) : 0;
    return (l.elements(l.dims(0)) + l.elements(l.out(0))) * (past + l.extent(l.dims(1), -2));
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Attention)
