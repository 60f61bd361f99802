// The sum of embeddings of words, positions and segments, normalised: com.microsoft's EmbedLayerNormalization
// and QEmbedLayerNormalization.
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/generator/constant_of_shape.hpp"
#include "tenon/op/logical/equal.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/nn/layer_normalization.hpp"
#include "tenon/op/reduction/reduce_sum.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/slice.hpp"

namespace tenon::TENON_ABI::op {

/// The rule. Operands 0 to 7 are input_ids, segment_ids, the embeddings of words, positions and segments,
/// gamma, beta and mask; `position_ids` is that operand's number, or -1.
constexpr void infer_embeddings(Infer& i, int position_ids) {
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
  const bool stated = position_ids >= 0 && i.has(position_ids);
  if (stated) {
    const Dims& p = i.dims(position_ids);
    if (!i.expect_rank(position_ids, 2)) return;
    if (p.ranked() && ((p[0].differs(batch) && !p[0].is(1)) || p[1].differs(steps)))
      return i.fail("position_ids ", p, " do not fit ", Dims{batch, steps});
  }
  if (!stated && i.ranked(3) && steps.known() && i.dims(3)[0].below(steps.value()))
    return i.fail(steps, " steps, but ", i.dims(3)[0], " positions");
  i.out(0, {batch, steps, size});
  i.out(1, {batch});
  i.out(2, {batch, steps, size});
}

/// The results: the normalised sum, the number of ones in each row of the mask, and the sum. table(k, rows)
/// gives rows of operand k, or all of it, as floats.
template <class L, class F>
std::vector<int32_t> normalized_embeddings(L& to, float epsilon, int32_t position_ids, F table) {
  using namespace function_body;
  const Dims& ids = to.dims(0);
  const Dim batch = ids.ranked() ? ids[0] : Dim(), steps = ids.ranked() ? ids[1] : Dim();
  const auto rows = [&](int of, int32_t indices) {
    return table(of, to.add(Gather{}, {to.input(of), indices}));
  };
  int32_t sum = rows(2, to.input(0));
  sum = to.add(Add{},
               {sum, position_ids >= 0 ? rows(3, position_ids)
                                       : table(3, to.add(Slice{}, {to.input(3), ints(to, {0}),
                                                                   extent(to, to.input(0), steps, 1)}))});
  if (to.input(1) >= 0) sum = to.add(Add{}, {sum, rows(4, to.input(1))});
  const int32_t y =
      to.add(op::LayerNormalization{.epsilon = epsilon}, {sum, table(5, to.input(5)), table(6, to.input(6))});
  const auto as_int32 = [&](int32_t v) { return to.add(Cast{.to = tenon::dtype<int32_t>}, {v}); };
  const int32_t index =
      to.input(7) >= 0
          ? to.add(ReduceSum{.keepdims = 0},
                   {as_int32(to.add(Equal{}, {to.input(7), number(to, DType::int32, 1)})), ints(to, {1})})
          : as_int32(to.add(ConstantOfShape{}, {extent(to, to.input(0), batch, 0)}));
  return {y, index, sum};
}

}  // namespace tenon::TENON_ABI::op
