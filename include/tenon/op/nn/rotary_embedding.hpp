// RotaryEmbedding: positions as rotations of the heads' vectors.
// onnx.ai/onnx/operators/onnx__RotaryEmbedding.html
#pragma once

#include "tenon/kernels/rotary.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// Rotates pairs of the first rotary_embedding_dim numbers (0: all) of each head's vector by the angles of
/// its position. X is (batch, heads, steps, head size), or (batch, steps, heads * head size) with num_heads
/// stated. The caches are (positions, pairs) with position_ids (batch, steps), else (batch, steps, pairs).
/// Pairs are elements at the same place in the two halves, or with `interleaved` neighbours. Caches have an
/// angle for each pair and no more: ONNX's algorithm says so, though its function body drops the excess. A
/// negative position counts from the end, as in that algorithm and in the body's Gather; ONNX Runtime refuses
/// it.
/// op::RotaryEmbedding{}(x, cos, sin, ids) of (2,3,4,8), (50,4), (50,4) and (2,4) gives (2,3,4,8).
struct RotaryEmbedding {
  int64_t interleaved = 0;
  Opt<int64_t> num_heads{};
  int64_t rotary_embedding_dim = 0;

  static constexpr Spec spec{
      .name = "RotaryEmbedding",
      .since = {23},
      .inputs = {{"X", "T"}, {"cos_cache", "T"}, {"sin_cache", "T"}, {"position_ids", "M", optional}},
      .outputs = {{"Y", "T"}},
      .types = {{"T", types::float32 | types::float16 | types::bfloat16}, {"M", types::int64}}};
  static constexpr Attributes attributes{
      attr("interleaved", &RotaryEmbedding::interleaved).flag(),
      attr("num_heads", &RotaryEmbedding::num_heads),
      attr("rotary_embedding_dim", &RotaryEmbedding::rotary_embedding_dim)};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    i.out(0, x);
    Dim batch, steps, size;
    if (x.ranked()) {
      if (x.rank() != 3 && x.rank() != 4) return i.fail("X: rank ", x.rank(), ", expected 3 or 4");
      batch = x[0];
      steps = x[x.rank() - 2];
      size = x[x.rank() - 1];
      if (x.rank() == 3) {
        steps = x[1];
        if (!num_heads) return i.fail("X of rank 3 needs num_heads");
        if (!i.expect_at_least("num_heads", *num_heads, 1)) return;
        if (size.known() && size.value() % *num_heads != 0)
          return i.fail("X: ", size, " numbers do not make ", *num_heads, " heads");
        size = size.known() ? Dim(size.value() / *num_heads) : Dim();
      }
    }
    if (rotary_embedding_dim < 0 || rotary_embedding_dim % 2 != 0)
      return i.fail("rotary_embedding_dim is ", rotary_embedding_dim, ", expected an even number");
    if (size.below(rotary_embedding_dim))
      return i.fail("rotary_embedding_dim is ", rotary_embedding_dim, ", but heads are of size ", size);
    if (rotary_embedding_dim == 0 && size.known() && size.value() % 2 != 0)
      return i.fail("heads of size ", size, " are no pairs");
    const Dim pairs = rotary_embedding_dim > 0 ? Dim(rotary_embedding_dim / 2)
                      : size.known()           ? Dim(size.value() / 2)
                                               : Dim();
    for (int k : {1, 2}) {
      const bool shared = i.has(3);
      if (!i.expect_rank(k, shared ? 2 : 3)) return;
      const Dims& cache = i.dims(k);
      if (!cache.ranked()) continue;
      if (!shared && !i.expect_extents(k, {batch, steps, Dim()})) return;
      i.for_runs([&] {
        if (cache[cache.rank() - 1].differs(pairs))
          i.fail(i.name(k), ": ", cache, ", expected ", pairs, " angles a position");
      });
    }
    i.unify(i.dims(1), i.dims(2), "extents of cos_cache and sin_cache");
    if (i.has(3)) i.expect_extents(3, {batch, steps});
  }
  /// Error{out_of_range} for a position outside the caches.
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> cos_cache, TensorView<const T> sin_cache,
               TensorView<const int64_t> position_ids, TensorView<T> y) const {
    if (x.empty()) return;
    Scratch scratch;
    kernels::RotaryArgs<T> a;
    a.batch = x.extent(0), a.x = x.data(), a.y = y.data();
    if (x.rank() == 4) {
      a.heads = x.extent(1), a.steps = x.extent(2), a.size = x.extent(3);
      a.head_stride = a.steps * a.size;
      a.step_stride = a.size;
    } else {
      a.heads = *num_heads, a.steps = x.extent(1), a.size = x.extent(2) / a.heads;
      a.head_stride = a.size;
      a.step_stride = x.extent(2);
    }
    a.batch_stride = a.heads * a.steps * a.size;
    a.pairs = (rotary_embedding_dim > 0 ? rotary_embedding_dim : a.size) / 2;
    a.interleaved = interleaved != 0;
    a.cos = cos_cache.data(), a.sin = sin_cache.data();
    a.angle_row = cos_cache.extent(cos_cache.rank() - 1);
    if (position_ids) {
      const int64_t positions = cos_cache.extent(0);
      auto* rows = scratch.take<int64_t>(position_ids.size());
      for (int64_t k = 0; k < position_ids.size(); ++k) {
        const int64_t p = position_ids[k];
        if (p < -positions || p >= positions)
          raise(ErrorCode::out_of_range, spec.name, "position ", p, " outside of ", positions,
                " in the caches");
        rows[k] = p < 0 ? p + positions : p;
      }
      a.rows = rows;
    }
    kernels::rotary(a);
  }
  template <class L>
  void loops(L& l) const {
    const int rank = l.dims(0).ranked() ? l.dims(0).rank() : 0;
    if (rank != 3 && rank != 4) return;
    const bool shared = l.has(3);
    const auto over = [&](int axis, int of_caches) {
      l.over({{0, axis}, {1, shared ? -1 : of_caches}, {2, shared ? -1 : of_caches}, {3, of_caches}},
             {{0, axis}});
    };
    if (rank == 4) l.over({{0, 1}}, {{0, 1}});
    else l.over({{0, 2}}, {{0, 2}}, *num_heads).attributes = {"num_heads"};
    over(0, 0);
    over(rank == 4 ? 2 : 1, 1);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::RotaryEmbedding)
