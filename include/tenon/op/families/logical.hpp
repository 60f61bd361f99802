// And, Or and Xor differ only in their names, kernels and arithmetic on propagated elements.
#pragma once

#include "tenon/op/families/before_broadcasting.hpp"
#include "tenon/op/families/compare.hpp"

namespace tenon::TENON_ABI::op {

/// F on propagated elements, as far as they are known.
template <kernels::LogicOp F>
constexpr Dim connected(Dim a, Dim b) {
  if constexpr (F == kernels::LogicOp::logical_and) return a * b;
  else if constexpr (F == kernels::LogicOp::logical_or) return Dim(1) - (Dim(1) - a) * (Dim(1) - b);
  else return a.known() && b.known() ? Dim(a.differs(b)) : Dim();
}

/// C = F(A, B) on bools with numpy's broadcasting, since version 7.
template <Str Name, kernels::LogicOp F>
struct Logical {
  static constexpr Spec spec{.name = Name,
                             .since = {7},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T1"}},
                             .types = {{"T", types::boolean}, comparison_result},
                             .elements = Elements::arithmetic};

  constexpr void infer(Infer& i) const { infer_broadcast(i, connected<F>); }
  void compute(TensorView<const bool> a, TensorView<const bool> b, TensorView<bool> c) const {
    logic<F>(a, b, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op
