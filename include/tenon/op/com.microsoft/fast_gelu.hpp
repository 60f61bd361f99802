// FastGelu: Gelu by a tanh, of a sum.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.FastGelu
#pragma once

#include "tenon/op/framework/registry.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/gelu.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y = Z / 2 (1 + tanh(sqrt(2 / pi) (Z + 0.044715 Z^3))), where Z is X + bias, and bias has an element for
/// each place along X's last axis. op::com_microsoft::FastGelu{}(1.0f) gives 0.841192.
struct FastGelu {
  static constexpr Spec spec{.name = "FastGelu",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"}, {"bias", "T", optional}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats_bf16}},
                             .elements = Elements::arithmetic};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    if (i.has(1)) {
      if (!i.expect_rank_at_least(0, 1) || !i.expect_rank(1, 1)) return;
      if (i.ranked(0, 1)) i.expect_extents(1, {x[x.rank() - 1]});
    }
    i.out(0, x);
  }
  template <class L>
  int32_t lower(L& to) const {
    const int32_t x = to.input(0);
    return to.add(op::Gelu{.approximate = "tanh"}, {to.input(1) < 0 ? x : to.add(Add{}, {x, to.input(1)})});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::FastGelu)
