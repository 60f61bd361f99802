// BitShift: bits moved to the left or to the right.   onnx.ai/onnx/operators/onnx__BitShift.html
#pragma once

#include "tenon/op/families/elementwise.hpp"

namespace tenon::TENON_ABI::op {

/// Z = X << Y or X >> Y, for `direction` LEFT or RIGHT, with numpy's broadcasting; 0 where Y is X's width in
/// bits or more. op::BitShift{.direction = {"LEFT"}}(uint8_t{3}, uint8_t{2}) gives 12.
struct BitShift {
  Opt<Str> direction{};

  static constexpr Spec spec{.name = "BitShift",
                             .since = {11},
                             .inputs = {{"X", "T"}, {"Y", "T"}},
                             .outputs = {{"Z", "T"}},
                             .types = {{"T", types::unsigned_integers}},
                             .elements = Elements::arithmetic};
  static constexpr Attributes attributes{attr("direction", &BitShift::direction).required()};

  constexpr void infer(Infer& i) const {
    if (!direction) return i.fail("attribute 'direction' is missing");
    if (i.expect_choice("direction", *direction, {"LEFT", "RIGHT"})) infer_broadcast(i);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> y, TensorView<T> z) const {
    if (*direction == "LEFT") binary<kernels::BinaryOp::shift_left>(spec.name, x, y, z);
    else binary<kernels::BinaryOp::shift_right>(spec.name, x, y, z);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::BitShift)
