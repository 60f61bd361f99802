// And: C = A && B.   onnx.ai/onnx/operators/onnx__And.html
#pragma once

#include "tenon/op/compare.hpp"

namespace tenon::op {

/// C = A && B with numpy's broadcasting.
struct And {
  static constexpr Spec spec{.name = "And",
                             .since = {7},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T1"}},
                             .types = {{"T", types::boolean}, comparison_result},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{};

  constexpr void infer(Infer& i) const {
    infer_broadcast(i, [](Dim a, Dim b) { return a * b; });
  }
  void compute(TensorView<const bool> a, TensorView<const bool> b, TensorView<bool> c) const {
    logic<kernels::LogicOp::logical_and>(a, b, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// B is stretched over A only where `broadcast` says so, along A's axes from `axis` on.
struct And_1 {
  Opt<int64_t> axis{};
  int64_t broadcast = 0;

  static constexpr Spec spec{.name = "And",
                             .since = {1},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T1"}},
                             .types = {{"T", types::boolean}, comparison_result},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("axis", &And_1::axis), attr("broadcast", &And_1::broadcast)};

  constexpr void infer(Infer& i) const { infer_legacy_broadcast(i, broadcast, axis); }
  void compute(TensorView<const bool> a, TensorView<const bool> b, TensorView<bool> c) const {
    And{}.compute(a, {b.data(), legacy_extents(a.extents(), b.extents(), axis)}, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
