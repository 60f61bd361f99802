// Size: the number of a tensor's elements.   onnx.ai/onnx/operators/onnx__Size.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// The number of elements, an int64 scalar: 1 of a scalar, 0 where an extent is 0. op::Size{}(x) of (2,3)
/// gives 6.
struct Size {
  static constexpr Spec spec{.name = "Size",
                             .since = {1, 13, 19, 21, 23, 24, 25},
                             .inputs = {{"data", "T"}},
                             .outputs = {{"size", "T1"}},
                             .types = {every_type("T"), {"T1", types::int64}}};

  constexpr void infer(Infer& i) const {
    i.out(0, Dims::of_rank(0));
    i.out(0).propagated = {i.dims(0).count()};
  }
  void compute(AnyView data, TensorView<int64_t> size) const { size[0] = data.size(); }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Size)
