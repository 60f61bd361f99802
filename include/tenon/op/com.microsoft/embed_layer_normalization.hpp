// EmbedLayerNormalization: the sum of embeddings of words, positions and segments, normalised.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.EmbedLayerNormalization
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/generator/constant_of_shape.hpp"
#include "tenon/op/logical/equal.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/nn/layer_normalization.hpp"
#include "tenon/op/reduction/reduce_sum.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/slice.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// output = LayerNormalization(S, gamma, beta) of the sum S of rows of word_embedding, position_embedding and
/// segment_embedding, which input_ids, position_ids and segment_ids (batch, steps) choose; positions are 0,
/// 1, … without position_ids. mask_index is the number of ones in each row of `mask`, and 0 without one; S is
/// the last result. op::com_microsoft::EmbedLayerNormalization{}(ids, none, words, positions, none, gamma,
/// beta) of (2,3), (5,4), (3,4), (4) and (4) gives (2,3,4) and (2).
struct EmbedLayerNormalization {
  float epsilon = 1e-12f;

  static constexpr Spec spec{
      .name = "EmbedLayerNormalization",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{.name = "input_ids", .type = "T1", .looks_up = 2},
                 {.name = "segment_ids", .type = "T1", .arity = optional, .looks_up = 4},
                 {"word_embedding", "T"},
                 {"position_embedding", "T"},
                 {"segment_embedding", "T", optional},
                 {"gamma", "T"},
                 {"beta", "T"},
                 {"mask", "T1", optional},
                 {.name = "position_ids", .type = "T1", .arity = optional, .looks_up = 3}},
      .outputs = {{"output", "T"}, {"mask_index", "T1", optional}, {"embedding_sum", "T", optional}},
      .types = {{"T", types::float32 | types::float16}, {"T1", types::int32}}};
  static constexpr Attributes attributes{attr("epsilon", &EmbedLayerNormalization::epsilon),
                                         ignored<int64_t>("mask_index_type")};

  constexpr void infer(Infer& i) const {
    if (i.has(1) != i.has(4)) return i.fail("segment_ids and segment_embedding come together");
    if (!i.expect_rank(0, 2)) return;
    const Dim batch = i.ranked(0) ? i.dims(0)[0] : Dim(), steps = i.ranked(0) ? i.dims(0)[1] : Dim();
    Dim size;
    for (int k : {2, 3, 4}) {
      if (!i.has(k)) continue;
      if (!i.expect_rank(k, 2)) return;
      if (i.ranked(k)) size = i.unify(size, i.dims(k)[1], "sizes of embeddings");
    }
    for (int k : {5, 6})
      if (!i.expect_rank(k, 1) || !i.expect_extents(k, {size})) return;
    for (int k : {1, 7})
      if (i.has(k) && !i.expect_extents(k, {batch, steps})) return;
    if (i.has(8)) {
      const Dims& p = i.dims(8);
      if (!i.expect_rank(8, 2)) return;
      if (p.ranked() && ((p[0].differs(batch) && !p[0].is(1)) || p[1].differs(steps)))
        return i.fail("position_ids ", p, " do not fit ", Dims{batch, steps});
    }
    if (!i.has(8) && i.ranked(3) && steps.known() && i.dims(3)[0].below(steps.value()))
      return i.fail(steps, " steps, but ", i.dims(3)[0], " positions");
    i.out(0, {batch, steps, size});
    i.out(1, {batch});
    i.out(2, {batch, steps, size});
  }
  template <class L>
  std::vector<int32_t> lower(L& to) const {
    using namespace function_body;
    const Dims& ids = to.dims(0);
    const Dim batch = ids.ranked() ? ids[0] : Dim(), steps = ids.ranked() ? ids[1] : Dim();
    const auto rows = [&](int table, int indices) {
      return to.add(Gather{}, {to.input(table), to.input(indices)});
    };
    int32_t sum = rows(2, 0);
    sum = to.add(Add{}, {sum, to.input(8) >= 0 ? rows(3, 8)
                                               : to.add(Slice{}, {to.input(3), ints(to, {0}),
                                                                  extent(to, to.input(0), steps, 1)})});
    if (to.input(1) >= 0) sum = to.add(Add{}, {sum, rows(4, 1)});
    const int32_t y = to.add(op::LayerNormalization{.epsilon = epsilon}, {sum, to.input(5), to.input(6)});
    const auto as_int32 = [&](int32_t v) { return to.add(Cast{.to = tenon::dtype<int32_t>}, {v}); };
    const int32_t index =
        to.input(7) >= 0
            ? to.add(ReduceSum{.keepdims = 0},
                     {as_int32(to.add(Equal{}, {to.input(7), number(to, DType::int32, 1)})), ints(to, {1})})
            : as_int32(to.add(ConstantOfShape{}, {extent(to, to.input(0), batch, 0)}));
    return {y, index, sum};
  }
  /// Over the batch, and over steps whose positions are stated, unless their mask is counted.
  template <class L>
  void loops(L& l) const {
    for (const int axis : {0, 1}) {
      if (axis == 1 && !l.has(8)) return;
      const int of_index = axis == 0 ? 0 : -1;
      l.over({{0, axis}, {1, axis}, {7, axis}, {8, l.stretched(8, axis, 2)}},
             {{0, axis}, {1, of_index}, {2, axis}});
    }
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::EmbedLayerNormalization)
