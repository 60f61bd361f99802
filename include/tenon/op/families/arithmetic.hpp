// Add, Sub, Mul and Div differ only in their names, kernels and arithmetic on extents.
#pragma once

#include "tenon/op/families/before_broadcasting.hpp"

namespace tenon::TENON_ABI::op {

/// F on propagated elements.
template <kernels::BinaryOp F>
constexpr Dim combined(Dim a, Dim b) {
  if constexpr (F == kernels::BinaryOp::add) return a + b;
  else if constexpr (F == kernels::BinaryOp::sub) return a - b;
  else if constexpr (F == kernels::BinaryOp::mul) return a * b;
  else return a / b;
}

/// C = F(A, B) with numpy's broadcasting, since version 7.
template <Str Name, kernels::BinaryOp F>
struct Arithmetic {
  static constexpr Spec spec{.name = Name,
                             .since = {7, 13, 14},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T"}},
                             .types = {{"T",
                                        {{1, types::floats},
                                         {6, types::wide_numeric},
                                         {13, types::wide_numeric_bf16},
                                         {14, types::numeric_bf16}}}},
                             .elements = Elements::arithmetic};

  constexpr void infer(Infer& i) const { infer_broadcast(i, combined<F>); }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<T> c) const {
    binary<F>(spec.name, a, b, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op
