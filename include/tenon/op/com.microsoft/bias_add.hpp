// BiasAdd: Y = X + bias + skip.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.BiasAdd
#pragma once

#include "tenon/op/framework/registry.hpp"
#include "tenon/op/math/add.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = X + bias + skip, where X and skip are (N, S, C) and bias is (C).
/// op::com_microsoft::BiasAdd{}(x, bias, skip) of (2,3,8), (8) and (2,3,8) gives (2,3,8).
struct BiasAdd {
  static constexpr Spec spec{.name = "BiasAdd",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"}, {"bias", "T"}, {"skip", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::float32 | types::float16}},
                             .elements = Elements::arithmetic};

  constexpr void infer(Infer& i) const {
    if (!i.expect_rank(0, 3) || !i.expect_rank(1, 1) || !i.expect_rank(2, 3)) return;
    const Dims x = i.unify(i.dims(0), i.dims(2), "extents of X and skip");
    if (i.failed()) return;
    if (x.ranked() && !i.expect_extents(1, {x[2]})) return;
    i.out(0, x);
  }
  template <class L>
  int32_t lower(L& to) const {
    return to.add(Add{}, {to.add(Add{}, {to.input(0), to.input(1)}), to.input(2)});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::BiasAdd)
