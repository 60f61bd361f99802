// FusedAttention: attention that models express by several nodes.
#pragma once

#include "tenon/op/families/attention.hpp"

namespace tenon::TENON_ABI::passes {

/// Y = softmax(capped Q K^T * scale + mask) V for each head, with the extents of Attention. K and V may have
/// other types than Q. The mask broadcasts to (batch, heads, queries, keys). Of an entry of the batch, `ends`
/// is the number of keys that count; the position of query i is i, or with ends i + ends - queries. The
/// fields without a comment are those of kernels::AttentionArgs.
struct FusedAttention {
  float scale = 1;
  float softcap = 0;
  int64_t left = -1, right = -1;
  float hidden = 0;             ///< the score of keys that a mask of bool hides; 0: -infinity
  int64_t one_key_for_all = 1;  ///< a mask of one key holds for all keys
  int64_t mask_widens = 0;      ///< scores are stretched to the mask's extents
  int64_t none_is_nan = 1;      ///< as with Softmax
  int64_t nan_is_zero = 0;
  int64_t heads = 0;  ///< of Q, K and V of rank 3, (batch, steps, heads * size); 0: they have rank 4

  static constexpr op::Attributes fields{op::attr("scale", &FusedAttention::scale),
                                         op::attr("softcap", &FusedAttention::softcap),
                                         op::attr("left", &FusedAttention::left),
                                         op::attr("right", &FusedAttention::right),
                                         op::attr("hidden", &FusedAttention::hidden),
                                         op::attr("one_key_for_all", &FusedAttention::one_key_for_all),
                                         op::attr("mask_widens", &FusedAttention::mask_widens),
                                         op::attr("none_is_nan", &FusedAttention::none_is_nan),
                                         op::attr("nan_is_zero", &FusedAttention::nan_is_zero),
                                         op::attr("heads", &FusedAttention::heads)};
  static constexpr op::Spec spec = op::own_spec("FusedAttention",
                                                {{"Q", "T"},
                                                 {"K", "U"},
                                                 {"V", "W"},
                                                 {"mask", "M", op::optional},
                                                 {"ends", "tensor(int64)", op::optional}},
                                                {{"Y", "T"}},
                                                {{"T", types::floats_bf16},
                                                 {"U", types::floats_bf16},
                                                 {"W", types::floats_bf16},
                                                 {"M", types::numeric_bf16 | types::boolean}});

  constexpr void infer(op::Infer& i) const {
    for (int k = 0; k < 3; ++k)
      if (!i.expect_rank(k, heads > 0 ? 3 : 4)) return;
    const Opt<int64_t> stated = heads > 0 ? Opt<int64_t>(heads) : Opt<int64_t>();
    const op::AttentionExtents e = op::infer_attention(i, stated, stated);
    if (i.failed()) return;
    Dims scores{e.batch, e.heads, e.queries, e.keys};
    if (mask_widens != 0 && heads == 0) scores = op::masked_scores(i, 3, scores);
    else op::check_attention_mask(i, 3, scores, one_key_for_all != 0);
    if (i.has(4)) i.expect_extents(4, {e.batch});
    if (heads > 0) i.out(0, {e.batch, e.queries, e.heads * e.value_size});
    else i.out(0, {scores[0], scores[1], scores[2], e.value_size});
  }
  template <class T>
  void compute(TensorView<const T> q, AnyView k, AnyView v, AnyView mask, TensorView<const int64_t> ends,
               TensorView<T> y) const {
    if (y.empty()) return;
    constexpr DType t = dtype_of<T>;
    const int64_t parts = std::max<int64_t>(heads, 1);  // of the last axis
    Scratch scratch;
    kernels::AttentionArgs a;
    a.batch = y.extent(0), a.queries = y.extent(-2);
    a.heads = heads > 0 ? heads : y.extent(1), a.kv_heads = heads > 0 ? heads : k.extent(1);
    a.size = q.extent(-1) / parts, a.value_size = v.extent(-1) / parts;
    a.q = heads > 0 ? op::head_rows<const void>(t, q.data(), q.extents(), a.heads)
                    : op::stretched_rows(scratch, q, {a.batch, a.heads, a.queries, a.size});
    const auto rows = [&](AnyView x) {
      return op::for_batch(op::head_rows<const void>(x.dtype(), x.data(), x.extents(), a.kv_heads),
                           x.extent(0), a.batch);
    };
    const kernels::AttentionPart part{rows(k), rows(v), k.extent(-2)};
    a.parts = {&part, 1};
    a.y = op::head_rows<void>(t, y.data(), y.extents(), a.heads);
    a.scale = static_cast<double>(scale), a.softcap = static_cast<double>(softcap);
    a.nan_is_zero = nan_is_zero != 0;
    if (mask) a.mask = op::attention_mask(mask);
    a.mask.stretched = one_key_for_all != 0 && a.mask.keys == 1 && part.keys > 0;
    if (hidden != 0) a.mask.hidden = static_cast<double>(hidden);
    a.mask.none_is_nan = none_is_nan != 0;
    a.left = left, a.right = right;
    if (ends) {
      auto* const offsets = scratch.take<int64_t>(a.batch);
      for (int64_t b = 0; b < a.batch; ++b) {
        if (ends[b] < 0 || ends[b] > part.keys)
          raise(ErrorCode::out_of_range, spec.name, "ends has ", ends[b], ", but there are ", part.keys,
                " keys");
        offsets[b] = ends[b] - a.queries;
      }
      a.offsets = offsets, a.ends = ends.data();
    }
    kernels::attention<compute_t<T>>(a);
  }
};

}  // namespace tenon::TENON_ABI::passes
