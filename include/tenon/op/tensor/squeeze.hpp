// Squeeze: axes of extent 1 removed.   onnx.ai/onnx/operators/onnx__Squeeze.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// Removes `axes`, or else all axes of extent 1. op::Squeeze{}(x, constant<int64_t, 0>) of (1,3) gives (3).
struct Squeeze {
  static constexpr Spec spec{
      .name = "Squeeze",
      .since = {1, 11, 13, 21, 23, 24, 25},
      .inputs = {{"data", "T"}, {.name = "axes", .type = "tensor(int64)", .arity = optional, .since = 13}},
      .outputs = {{"squeezed", "T"}},
      .types = {all_tensors},
      .elements = Elements::order,
      .memory = Memory::alias};
  static constexpr Attributes attributes{attr_as_input<std::vector<int64_t>>("axes", 1).until(12)};

  constexpr void infer(Infer& i) const {
    propagate(i);
    const Dims& x = i.dims(0);
    if (!x.ranked()) return;
    const bool stated = i.has(1);
    Ints axes;
    if (stated && !i.ints(1, axes)) {
      const Dim rank = Dim(x.rank()) - i.dims(1).count();
      if (i.expect_rank(1, 1) && !rank.below(0)) i.out(0, i.of_rank(rank));
      return;
    }
    const uint32_t named = i.axes(axes, x.rank());
    if (i.failed()) return;
    Dims r = Dims::of_rank(0);
    for (int d = 0; d < x.rank(); ++d) {
      const bool here = named >> d & 1;
      if (here && x[d].differs(1)) return i.fail("axis ", d, " of ", x, " is not 1");
      if (!stated && !x[d].known()) return;  // even the rank is unknown
      if (stated ? !here : !x[d].is(1)) r.push_back(x[d]);
    }
    i.out(0, r);
  }
  void compute(AnyView data, TensorView<const int64_t>, AnyOut squeezed) const {
    copy_elements(data, squeezed);
  }
  template <class L>
  void loops(L& l) const {
    if (l.has(1)) l.same_order();  // else a part of one element would lose its axis
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Squeeze)
