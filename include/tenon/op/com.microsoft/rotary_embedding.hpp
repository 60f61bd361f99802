// RotaryEmbedding: positions as rotations of the heads' vectors.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.RotaryEmbedding
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/generator/range.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/expand.hpp"
#include "tenon/op/nn/rotary_embedding.hpp"
#include "tenon/op/tensor/squeeze.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Rotates pairs of the first rotary_embedding_dim numbers (0: all) of each head's vector by the angles of
/// its position. Input is (batch, heads, steps, head size), or (batch, steps, heads * head size), where the
/// caches' (positions, pairs) state the head size unless num_heads does. position_ids is (batch, steps), or
/// one number, the position of the first step. `scale` has no effect, as in ONNX Runtime.
/// op::com_microsoft::RotaryEmbedding{}(x, ids, cos, sin) of (2,3,8), (1), (50,4) and (50,4) gives (2,3,8).
struct RotaryEmbedding {
  int64_t interleaved = 0;
  int64_t num_heads = 0;
  int64_t rotary_embedding_dim = 0;

  static constexpr Spec spec{
      .name = "RotaryEmbedding",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"input", "T"}, {"position_ids", "M"}, {"cos_cache", "T"}, {"sin_cache", "T"}},
      .outputs = {{"output", "T"}},
      .types = {{"T", types::float32 | types::float16 | types::bfloat16}, {"M", types::int64}}};
  static constexpr Attributes attributes{
      attr("interleaved", &RotaryEmbedding::interleaved).flag(), ignored<int64_t>("is_packed_batching"),
      attr("num_heads", &RotaryEmbedding::num_heads),
      attr("rotary_embedding_dim", &RotaryEmbedding::rotary_embedding_dim), ignored<float>("scale")};

  constexpr void infer(Infer& i) const {
    const Dims &x = i.dims(0), &ids = i.dims(1);
    if (x.ranked() && x.rank() != 3 && x.rank() != 4)
      return i.fail("input: rank ", x.rank(), ", expected 3 or 4");
    if (!i.expect_at_least("num_heads", num_heads, 0) ||
        !i.expect_at_least("rotary_embedding_dim", rotary_embedding_dim, 0))
      return;
    if (rotary_embedding_dim > 0 && num_heads == 0) return i.fail("rotary_embedding_dim needs num_heads");
    if (ids.rank() > 2) return i.fail("position_ids: rank ", ids.rank(), ", expected at most 2");
    if (ids.ranked() && ids.rank() < 2 && !i.expect_one(1)) return;
    if (ids.rank() == 2 && x.ranked() && !i.expect_extents(1, {x[0], x[x.rank() - 2]})) return;
    for (int k : {2, 3})
      if (!i.expect_rank(k, 2)) return;
    i.unify(i.dims(2), i.dims(3), "extents of cos_cache and sin_cache");
    i.out(0, x);
  }
  template <class L>
  int32_t lower(L& to) const {
    using namespace function_body;
    const Dims &x = to.dims(0), &ids = to.dims(1), &cache = to.dims(2);
    if (!x.ranked() || !ids.ranked()) return -1;
    op::RotaryEmbedding rotary{.interleaved = interleaved, .rotary_embedding_dim = rotary_embedding_dim};
    if (x.rank() == 3 && num_heads > 0) {
      rotary.num_heads = num_heads;
    } else if (x.rank() == 3) {
      if (!cache.ranked() || !cache[1].known() || cache[1].is(0) || !x[2].known()) return -1;
      rotary.num_heads = x[2].value() / (2 * cache[1].value());
    }
    int32_t positions = to.input(1);
    if (ids.rank() < 2) {
      const int axis = x.rank() - 2;
      const int32_t zero = number(to, DType::int64, 0), one = number(to, DType::int64, 1);
      const int32_t steps = extent(to, to.input(0), x[axis], axis);
      const int32_t range = to.add(op::Range{}, {zero, to.add(Squeeze{}, {steps, ints(to, {0})}), one});
      positions = to.add(Expand{}, {to.add(Add{}, {positions, range}),
                                    to.add(Concat{.axis = 0}, {extent(to, to.input(0), x[0], 0), steps})});
    }
    return to.add(rotary, {to.input(0), to.input(2), to.input(3), positions});
  }
  template <class L>
  void loops(L& l) const {
    const Dims &x = l.dims(0), &ids = l.dims(1), &cache = l.dims(2);
    if (!x.ranked() || !ids.ranked()) return;
    const bool stated = ids.rank() == 2;  // a position for each step
    if (x.rank() == 4) l.over({{0, 1}}, {{0, 1}});
    else if (num_heads > 0) l.over({{0, 2}}, {{0, 2}}, num_heads).attributes = {"num_heads"};
    else if (cache.ranked()) l.over({{0, 2}}, {{0, 2}}, x[2] / (cache[1] * 2));
    l.over({{0, 0}, {1, stated ? 0 : -1}}, {{0, 0}});
    const int steps = x.rank() - 2;
    if (stated) l.over({{0, steps}, {1, 1}}, {{0, steps}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::RotaryEmbedding)
