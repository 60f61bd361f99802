// MRotaryEmbedding: positions in time, height and width as rotations of the heads' vectors.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MRotaryEmbedding
#pragma once

#include "tenon/op/families/function_body.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/nn/rotary_embedding.hpp"
#include "tenon/op/tensor/gather.hpp"
#include "tenon/op/tensor/gather_elements.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// RotaryEmbedding by three positions of a step, position_ids (3, batch, steps). mrope_section has the number
/// of pairs whose angles come from each of them; with mrope_layout 0 the first ones from the first position,
/// and so on. With 1, pairs 1, 4, 7 … come from the second one, pairs 2, 5, 8 … from the third, as many as
/// there are of each, all others from the first. Input is as RotaryEmbedding takes it, where num_heads is
/// stated if it has rank 3; `scale` multiplies the caches' numbers. op::com_microsoft::MRotaryEmbedding{
/// .mrope_section = {2, 1, 1}, .num_heads = 2}(x, ids, cos, sin) of (1,3,16), (3,1,3), (50,4) and (50,4)
/// gives (1,3,16).
struct MRotaryEmbedding {
  int64_t interleaved = 0;
  int64_t mrope_layout = 0;
  Ints mrope_section{};
  int64_t num_heads = 0;
  int64_t rotary_embedding_dim = 0;
  float scale = 1;

  static constexpr int64_t most_pairs = 65536;
  static constexpr Spec spec{
      .name = "MRotaryEmbedding",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"input", "T"}, {"position_ids", "M"}, {"cos_cache", "T"}, {"sin_cache", "T"}},
      .outputs = {{"output", "T"}},
      .types = {{"T", types::float32 | types::float16 | types::bfloat16}, {"M", types::int64}}};
  static constexpr Attributes attributes{
      attr("interleaved", &MRotaryEmbedding::interleaved).flag(),
      ignored<int64_t>("is_packed_batching"),
      attr("mrope_layout", &MRotaryEmbedding::mrope_layout),
      attr("mrope_section", &MRotaryEmbedding::mrope_section).required(),
      attr("num_heads", &MRotaryEmbedding::num_heads),
      attr("rotary_embedding_dim", &MRotaryEmbedding::rotary_embedding_dim),
      attr("scale", &MRotaryEmbedding::scale)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("mrope_layout", mrope_layout, {0, 1}) ||
        !i.expect_entries("mrope_section", mrope_section.size(), 3) ||
        !i.expect_at_least("num_heads", num_heads, 0) ||
        !i.expect_at_least("rotary_embedding_dim", rotary_embedding_dim, 0))
      return;
    Dim pairs = 0;
    for (const int64_t n : mrope_section) {
      if (!i.expect_at_least("mrope_section", n, 0)) return;
      pairs = pairs + n;
    }
    if (!pairs.known() || pairs.below(1) || Dim(most_pairs).below(pairs))
      return i.fail("mrope_section: ", pairs, " pairs, expected 1 to ", most_pairs);
    if (rotary_embedding_dim > 0 && num_heads == 0) return i.fail("rotary_embedding_dim needs num_heads");
    const Dims& x = i.dims(0);
    if (x.ranked() && x.rank() != 3 && x.rank() != 4)
      return i.fail("input: rank ", x.rank(), ", expected 3 or 4");
    if (x.rank() == 3 && num_heads == 0) return i.fail("input of rank 3 needs num_heads");
    if (x.rank() == 3 && (x[2] % num_heads).differs(0))
      return i.fail("input: ", x[2], " numbers do not make ", num_heads, " heads");
    if (!i.expect_rank(1, 3)) return;
    if (x.ranked() && !i.expect_extents(1, {3, x[0], x[x.rank() - 2]})) return;
    if (!x.ranked() && !i.expect_extents(1, {3, Dim(), Dim()})) return;
    for (int k : {2, 3})
      if (!i.expect_rank(k, 2) || !i.expect_extents(k, {Dim(), pairs})) return;
    i.unify(i.dims(2), i.dims(3), "extents of cos_cache and sin_cache");
    Dim size = rotary_embedding_dim;
    if (rotary_embedding_dim == 0) size = x.rank() == 4 ? x[3] : x.rank() == 3 ? x[2] / num_heads : Dim();
    if ((size / 2).differs(pairs))
      return i.fail("mrope_section: ", pairs, " pairs, but ", size, " numbers to rotate");
    i.out(0, x);
  }
  template <class L>
  int32_t lower(L& to) const {
    using namespace function_body;
    const Dims& x = to.dims(0);
    if (!x.ranked()) return -1;
    int64_t pairs = 0;
    for (const int64_t n : mrope_section) pairs += n;
    // Rows (batch * steps, pairs) of positions, by which each column of the caches is gathered.
    const int32_t by_pair = to.add(Gather{.axis = 0}, {to.input(1), positions(to, pairs)}),
                  rows = reshaped(to, transposed(to, by_pair, {1, 2, 0}), {-1, pairs});
    const int axis = x.rank() - 2;
    const int32_t extents =
        to.add(Concat{.axis = 0},
               {extent(to, to.input(0), x[0], 0), extent(to, to.input(0), x[axis], axis), ints(to, {pairs})});
    const auto angles = [&](int k) {
      const int32_t found = to.add(GatherElements{.axis = 0}, {to.input(k), rows});
      const int32_t apart = to.add(Reshape{.allowzero = 1}, {found, extents});
      if (scale == 1) return apart;
      // A scale of 16 bits would have fewer digits.
      const DType type = to.in(k).type.element, wide = DType::float32;
      const int32_t factor = number(to, wide, static_cast<double>(scale));
      return converted(to, to.add(Mul{}, {converted(to, apart, type, wide), factor}), wide, type);
    };
    op::RotaryEmbedding rotary{.interleaved = interleaved, .rotary_embedding_dim = rotary_embedding_dim};
    if (x.rank() == 3) rotary.num_heads = num_heads;
    return to.add(rotary, {to.input(0), angles(2), angles(3)});
  }
  template <class L>
  void loops(L& l) const {
    const Dims& x = l.dims(0);
    if (!x.ranked()) return;
    if (x.rank() == 4) l.over({{0, 1}}, {{0, 1}});
    else l.over({{0, 2}}, {{0, 2}}, num_heads).attributes = {"num_heads"};
    l.over({{0, 0}, {1, 1}}, {{0, 0}});
    l.over({{0, x.rank() - 2}, {1, 2}}, {{0, x.rank() - 2}});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// Which of the three positions each pair has.
  template <class L>
  int32_t positions(L& to, int64_t pairs) const {
    Tensor<int64_t> of(Extents{pairs});
    std::fill(of.begin(), of.end(), int64_t{0});
    for (int64_t p = 1, first = mrope_section[0]; p < 3; first += mrope_section[static_cast<int>(p)], ++p)
      for (int64_t n = 0; n < mrope_section[static_cast<int>(p)]; ++n) {
        const int64_t k = mrope_layout == 0 ? first + n : p + 3 * n;
        if (k < pairs) of[k] = p;
      }
    return to.constant(of);
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::MRotaryEmbedding)
