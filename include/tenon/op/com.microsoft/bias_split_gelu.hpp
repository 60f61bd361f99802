// BiasSplitGelu: one half of X + bias times the Gelu of the other.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.BiasSplitGelu
#pragma once

#include "tenon/op/framework/registry.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/gelu.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/tensor/split.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y (N, S, C / 2) = left * Gelu(right), where left and right are the halves of X (N, S, C) + bias (C) along
/// the last axis. op::com_microsoft::BiasSplitGelu{}(x, bias) of (2,3,8) and (8) gives (2,3,4).
struct BiasSplitGelu {
  static constexpr Spec spec{.name = "BiasSplitGelu",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"}, {"bias", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::float32 | types::float16}}};

  constexpr void infer(Infer& i) const {
    if (!i.expect_rank(0, 3) || !i.expect_rank(1, 1)) return;
    Dims y = i.ranked(0) ? i.dims(0) : Dims::of_rank(3);
    if (i.ranked(1)) y[2] = i.unify(y[2], i.dims(1)[0], "last extents of X and bias");
    if ((y[2] % 2).differs(0)) return i.fail("X: ", y, " has no halves along the last axis");
    y[2] = y[2] / 2;
    i.out(0, y);
  }
  template <class L>
  int32_t lower(L& to) const {
    const std::vector<int32_t> halves =
        to.add(Split{.axis = 2, .num_outputs = 2}, {to.add(Add{}, {to.input(0), to.input(1)})}, 2);
    return to.add(Mul{}, {halves[0], to.add(op::Gelu{}, {halves[1]})});
  }
  template <class L>
  void loops(L& l) const {
    for (const int axis : {0, 1}) l.over({{0, axis}}, {{0, axis}});
    if (l.out(0).ranked()) l.over({{0, 2, 2}, {1, 0, 2}}, {{0, 2}}, l.out(0)[2]);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::BiasSplitGelu)
