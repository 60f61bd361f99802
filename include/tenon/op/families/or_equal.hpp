// GreaterOrEqual and LessOrEqual differ in their names and comparisons alone.
#pragma once

#include "tenon/op/families/compare.hpp"

namespace tenon::op {

/// C = F(A, B) with numpy's broadcasting, since version 12.
template <Str Name, kernels::CompareOp F>
struct OrEqual {
  static constexpr Spec spec{
      .name = Name,
      .since = {12, 16},
      .inputs = {{"A", "T"}, {"B", "T"}},
      .outputs = {{"C", "T1"}},
      .types = {{"T", {{12, types::numeric}, {16, types::numeric_bf16}}}, comparison_result},
      .memory = Memory::elementwise};

  constexpr void infer(Infer& i) const { infer_compare<F>(i); }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<bool> c) const {
    compare<F>(a, b, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
