// Expand: a tensor broadcast to a shape.   onnx.ai/onnx/operators/onnx__Expand.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// numpy's broadcasting of input and a tensor of extents `shape`; input's extents stay where `shape` is 1.
/// A scalar whose value is known counts as one extent, as ONNX Runtime takes an initializer.
/// op::Expand{}(x, constant<int64_t, 2, 1, 3>) of (4,1) gives (2,4,3).
struct Expand {
  static constexpr Spec spec{.name = "Expand",
                             .since = {8, 13},
                             .inputs = {{"input", "T"}, {"shape", "tensor(int64)"}},
                             .outputs = {{"output", "T"}},
                             .types = {all_tensors_ir4},
                             .elements = Elements::choice};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    const Dim one = i.ranked(1) && i.dims(1).rank() == 0 ? i.item(1) : Dim();
    if (!i.expect_at_least("extent", one, 0)) return;
    i.out(0, i.broadcast(x, one.known() ? Dims{one} : requested_extents(i, 1)));
    if (!i.failed() && propagates_array(i)) propagate_strided(i, 0, steps(x.extents(), i.out(0).dims.rank()));
  }
  void compute(AnyView input, TensorView<const int64_t>, AnyOut output) const {
    if (output.empty()) return;
    const Extents to = dense_strides(output.extents()), from = steps(input.extents(), output.rank());
    kernels::move(input.dtype(), output.data(), {0, to.data()}, input.data(), {0, from.data()},
                  output.extents());
  }
  template <class L>
  void loops(L& l) const {
    Ints shape;
    const int rank = l.out(0).rank();
    if (!l.out(0).ranked() || !l.integers(1, shape)) return;
    for (int axis = 0; axis < rank; ++axis) {
      const int of_x = l.stretched(0, axis, rank), of_shape = axis - rank + shape.size();
      auto& loop = l.over({{0, of_x}}, {{0, axis}});
      if (of_shape >= 0 && shape[of_shape] != 1) loop.elements = {{1, of_shape}};
    }
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// The input's strides along each axis of the result: 0 where it is stretched.
  static constexpr Extents steps(std::span<const int64_t> x, int rank) {
    Extents s = dense_strides(x);
    for (int d = 0; d < s.size(); ++d)
      if (x[static_cast<std::size_t>(d)] == 1) s[d] = 0;
    while (s.size() < rank) s.insert(0, 0);
    return s;
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Expand)
