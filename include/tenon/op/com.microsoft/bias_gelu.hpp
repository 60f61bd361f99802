// BiasGelu: Gelu of a sum.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.BiasGelu
#pragma once

#include "tenon/op/framework/registry.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/gelu.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// C = Z / 2 (1 + erf(Z / sqrt(2))), where Z is A + B, and B has an element for each place along A's last
/// axis. op::com_microsoft::BiasGelu{}(a, b) of (2,3) and (3) gives (2,3).
struct BiasGelu {
  static constexpr Spec spec{.name = "BiasGelu",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T"}},
                             .types = {{"T", types::floats_bf16}},
                             .elements = Elements::arithmetic};

  constexpr void infer(Infer& i) const {
    const Dims& a = i.dims(0);
    if (!i.expect_rank_at_least(0, 1) || !i.expect_rank(1, 1)) return;
    if (i.ranked(0, 1)) i.expect_extents(1, {a[a.rank() - 1]});
    i.out(0, a);
  }
  template <class L>
  int32_t lower(L& to) const {
    return to.add(op::Gelu{}, {to.add(Add{}, {to.input(0), to.input(1)})});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::BiasGelu)
