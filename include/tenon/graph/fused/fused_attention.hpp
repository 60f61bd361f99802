// FusedAttention: attention that models express by several nodes.
#pragma once

#include "tenon/op/families/attention.hpp"

namespace tenon::TENON_ABI::passes {

/// Y = softmax(Q K^T * scale + mask) V for each head, with the extents of Attention. The mask broadcasts to
/// (batch, heads, queries, keys). As with Softmax, a query whose keys are all masked gets NaN.
struct FusedAttention {
  float scale = 1;
  int64_t heads = 0;  ///< of Q, K and V of rank 3, (batch, steps, heads * size); 0: they have rank 4

  static constexpr op::Attributes fields{op::attr("scale", &FusedAttention::scale),
                                         op::attr("heads", &FusedAttention::heads)};
  static constexpr op::Spec spec =
      op::own_spec("FusedAttention", {{"Q", "T"}, {"K", "T"}, {"V", "T"}, {"mask", "T", op::optional}},
                   {{"Y", "T"}}, {{"T", types::floats_bf16}});

  constexpr void infer(op::Infer& i) const {
    for (int k = 0; k < 3; ++k)
      if (!i.expect_rank(k, heads > 0 ? 3 : 4)) return;
    const Opt<int64_t> stated = heads > 0 ? Opt<int64_t>(heads) : Opt<int64_t>();
    const op::AttentionExtents e = op::infer_attention(i, stated, stated);
    if (i.failed()) return;
    op::check_attention_mask(i, 3, {e.batch, e.heads, e.queries, e.keys}, true);
    if (heads > 0) i.out(0, {e.batch, e.queries, e.heads * e.value_size});
    else i.out(0, {e.batch, e.heads, e.queries, e.value_size});
  }
  template <class T>
  void compute(TensorView<const T> q, TensorView<const T> k, TensorView<const T> v, AnyView mask,
               TensorView<T> y) const {
    if (y.empty()) return;
    constexpr DType t = dtype_of<T>;
    const int64_t parts = std::max<int64_t>(heads, 1);  // of the last axis
    kernels::AttentionArgs a;
    a.batch = q.extent(0);
    a.heads = heads > 0 ? heads : q.extent(1), a.kv_heads = heads > 0 ? heads : k.extent(1);
    a.queries = q.extent(-2);
    a.size = q.extent(-1) / parts, a.value_size = v.extent(-1) / parts;
    a.q = op::head_rows<const void>(t, q.data(), q.extents(), a.heads);
    const kernels::AttentionPart part{op::head_rows<const void>(t, k.data(), k.extents(), a.kv_heads),
                                      op::head_rows<const void>(t, v.data(), v.extents(), a.kv_heads),
                                      k.extent(-2)};
    a.parts = {&part, 1};
    a.y = op::head_rows<void>(t, y.data(), y.extents(), a.heads);
    a.scale = static_cast<double>(scale);
    if (mask) a.mask = op::attention_mask(mask);
    a.mask.stretched = a.mask.keys == 1 && part.keys > 0;
    a.mask.none_is_nan = true;
    kernels::attention<compute_t<T>>(a);
  }
};

}  // namespace tenon::TENON_ABI::passes
