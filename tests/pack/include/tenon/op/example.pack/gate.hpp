// Gate: Y = factor * X * Saturate(G).
#pragma once

#include "tenon/op/example.pack/saturate.hpp"
#include "tenon/op/framework/registry.hpp"
#include "tenon/op/math/mul.hpp"

namespace tenon::TENON_ABI::op::example_pack {

/// Y = factor * X * Saturate(G), where X is its own gate if G is left out.
struct Gate {
  float factor = 1;

  static constexpr Spec spec{.name = "Gate",
                             .domain = "example.pack",
                             .since = {2},
                             .inputs = {{"X", "T"}, {"G", "T", optional}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats}}};
  static constexpr Attributes attributes{attr("factor", &Gate::factor)};

  constexpr void infer(Infer& i) const { i.out(0, i.has(1) ? i.broadcast(i.dims(0), i.dims(1)) : i.dims(0)); }
  template <class L>
  int32_t lower(L& to) const {
    const int32_t x = to.input(0), g = to.input(1) < 0 ? x : to.input(1);
    const int32_t y = to.add(Mul{}, {x, to.add(Saturate{}, {g})});
    if (factor == 1) return y;
    return to.add(Mul{}, {y, to.constant(input_from_attribute(factor, to.in(0).type.element))});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::example_pack

TENON_OPERATORS(tenon::op::example_pack::Gate)
