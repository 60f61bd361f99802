// Unsqueeze: axes of extent 1 inserted.   onnx.ai/onnx/operators/onnx__Unsqueeze.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// `axes` number the result's axes, in any order. op::Unsqueeze{}(x, constant<int64_t, 0>) of (3) gives
/// (1,3).
struct Unsqueeze {
  static constexpr Spec spec{
      .name = "Unsqueeze",
      .since = {1, 11, 13, 21, 23, 24, 25},
      .inputs = {{"data", "T"}, {.name = "axes", .type = "tensor(int64)", .since = 13}},
      .outputs = {{"expanded", "T"}},
      .types = {all_tensors},
      .elements = Elements::order,
      .memory = Memory::alias};
  static constexpr Attributes attributes{attr_as_input<std::vector<int64_t>>("axes", 1).required().until(12)};

  constexpr void infer(Infer& i) const {
    propagate(i);
    const Dims& x = i.dims(0);
    if (!x.ranked()) return;
    Dims r = i.of_rank(Dim(x.rank()) + i.length(1));
    Ints axes;
    if (i.failed() || !i.ints(1, axes)) return i.out(0, r);
    const uint32_t named = i.axes(axes, r.rank());
    if (i.failed()) return;
    for (int d = 0, from = 0; d < r.rank(); ++d) r[d] = named >> d & 1 ? Dim(1) : x[from++];
    i.out(0, r);
  }
  void compute(AnyView data, TensorView<const int64_t>, AnyOut expanded) const {
    copy_elements(data, expanded);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Unsqueeze)
