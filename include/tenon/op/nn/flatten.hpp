// Flatten: a matrix out of all axes.   onnx.ai/onnx/operators/onnx__Flatten.html
#pragma once

#include "tenon/op/families/movement.hpp"

namespace tenon::TENON_ABI::op {

/// (product of the extents before `axis`, product of the rest); `axis` in [-rank, rank].
/// op::Flatten{}(x) of (2,3,4) gives (2,12).
struct Flatten {
  int64_t axis = 1;

  static constexpr Spec spec{.name = "Flatten",
                             .since = {1, 9, 11, 13, 21, 23, 24, 25},
                             .inputs = {{"input", "T"}},
                             .outputs = {{"output", "T"}},
                             .types = {every_type("T", {{1, types::floats}, {9, types::all}})},
                             .elements = Elements::order,
                             .memory = Memory::alias};
  static constexpr Attributes attributes{attr("axis", &Flatten::axis)};

  constexpr void infer(Infer& i) const {
    propagate(i);
    const Dims& x = i.dims(0);
    if (!x.ranked()) return i.out(0, Dims::of_rank(2));
    const int rank = x.rank();
    // A scalar is (1,1), although the default axis lies outside its range.
    if (axis < -rank || (axis > rank && !(rank == 0 && axis == 1)))
      return i.fail("axis ", axis, " outside of [", -rank, ", ", rank, "]");
    i.for_files([&] {
      if (axis > rank) i.fail("axis ", axis, " of a scalar");
      if (axis < 0 && i.version() < 11) i.fail("axis ", axis, ", before version 11 expected at least 0");
    });
    const int at = std::min(rank, resolve_axis(axis, rank));
    i.out(0, Dims{x.product(0, at), x.product(at, rank)});
  }
  void compute(AnyView input, AnyOut output) const { copy_elements(input, output); }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Flatten)
