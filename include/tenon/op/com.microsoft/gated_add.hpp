// GatedAdd: a sum whose second addend has a factor for each row.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.GatedAdd
#pragma once

#include "tenon/op/framework/registry.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/mul.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// output = X + Y * gate, where Y has X's extents, and gate has them too, with one number along the last
/// axis. op::com_microsoft::GatedAdd{}(x, y, gate) of (2,3), (2,3) and (2,1) gives (2,3).
struct GatedAdd {
  static constexpr Spec spec{.name = "GatedAdd",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"}, {"Y", "T"}, {"gate", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {{"T", types::float32 | types::float16 | types::bfloat16}},
                             .elements = Elements::arithmetic};

  constexpr void infer(Infer& i) const {
    if (!i.expect_rank_at_least(0, 1)) return;
    const Dims x = i.unify(i.dims(0), i.dims(1), "extents of X and Y");
    if (i.failed()) return;
    i.out(0, x);
    if (!x.ranked()) return;
    Dims gate = x;
    gate[x.rank() - 1] = 1;
    i.expect_extents(2, gate);
  }
  template <class L>
  int32_t lower(L& to) const {
    return to.add(Add{}, {to.input(0), to.add(Mul{}, {to.input(1), to.input(2)})});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::GatedAdd)
