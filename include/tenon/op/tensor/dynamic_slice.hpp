// DynamicSlice: a slice whose bounds are operands; experimental before Slice-10, then withdrawn.
// github.com/onnx/onnx/blob/v1.4.1/docs/Operators.md#experimental-dynamicslice
#pragma once

#include "tenon/op/tensor/slice.hpp"

namespace tenon::TENON_ABI::op {

/// Slice with steps of 1. op::DynamicSlice{}(x, constant<int64_t, 1>, constant<int64_t, 3>) of (4,5) gives
/// (2,5).
struct DynamicSlice {
  static constexpr Spec spec{
      .name = "DynamicSlice",
      .since = {1},
      .inputs = {{"data", "T"}, {"starts", "Tind"}, {"ends", "Tind"}, {"axes", "Tind", optional}},
      .outputs = {{"output", "T"}},
      .types = {{"T", types::all}, {"Tind", types::indices}},
      .elements = Elements::choice,
      .until = 9};

  constexpr void infer(Infer& i) const { Slice{}.infer(i); }
  void compute(AnyView data, AnyView starts, AnyView ends, AnyView axes, AnyOut output) const {
    Slice{}.compute(data, starts, ends, axes, {}, output);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::DynamicSlice)
