// Equal: C = A == B.   onnx.ai/onnx/operators/onnx__Equal.html
#pragma once

#include "tenon/op/compare.hpp"

namespace tenon::op {

/// C = A == B with numpy's broadcasting; NaN equals nothing.
struct Equal {
  static constexpr Spec spec{.name = "Equal",
                             .since = {7, 11, 13, 19},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T1"}},
                             .types = {{"T",
                                        {{7, types::indices | types::boolean},
                                         {11, types::numeric | types::boolean},
                                         {13, types::numeric_bf16 | types::boolean},
                                         {19, types::numeric_bf16 | types::boolean | types::string}}},
                                       comparison_result},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{};

  constexpr void infer(Infer& i) const { infer_compare<kernels::CompareOp::equal>(i); }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<bool> c) const {
    compare<kernels::CompareOp::equal>(a, b, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// B is stretched over A only where `broadcast` says so, along A's axes from `axis` on.
struct Equal_1 {
  Opt<int64_t> axis{};
  int64_t broadcast = 0;

  static constexpr Spec spec{.name = "Equal",
                             .since = {1},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T1"}},
                             .types = {{"T", types::indices | types::boolean}, comparison_result},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("axis", &Equal_1::axis),
                                         attr("broadcast", &Equal_1::broadcast)};

  constexpr void infer(Infer& i) const { infer_legacy_broadcast(i, broadcast, axis); }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<bool> c) const {
    Equal{}.compute(a, {b.data(), legacy_extents(a.extents(), b.extents(), axis)}, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
