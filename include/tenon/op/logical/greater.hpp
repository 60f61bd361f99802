// Greater: C = A > B.   onnx.ai/onnx/operators/onnx__Greater.html
#pragma once

#include "tenon/op/compare.hpp"

namespace tenon::op {

/// C = A > B with numpy's broadcasting; NaN is neither less nor greater.
struct Greater {
  static constexpr Spec spec{.name = "Greater",
                             .since = {7, 9, 13},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T1"}},
                             .types = {ordered_types, comparison_result},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{};

  constexpr void infer(Infer& i) const { infer_compare<kernels::CompareOp::greater>(i); }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<bool> c) const {
    compare<kernels::CompareOp::greater>(a, b, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// B is stretched over A only where `broadcast` says so, along A's axes from `axis` on.
struct Greater_1 {
  Opt<int64_t> axis{};
  int64_t broadcast = 0;

  static constexpr Spec spec{.name = "Greater",
                             .since = {1},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T1"}},
                             .types = {{"T", types::floats}, comparison_result},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("axis", &Greater_1::axis),
                                         attr("broadcast", &Greater_1::broadcast)};

  constexpr void infer(Infer& i) const { infer_legacy_broadcast(i, broadcast, axis); }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<bool> c) const {
    Greater{}.compute(a, {b.data(), legacy_extents(a.extents(), b.extents(), axis)}, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
