// What Add, Sub, Mul and Div share: everything but their names, kernels and arithmetic on extents.
#pragma once

#include "tenon/op/elementwise.hpp"

namespace tenon::op {

/// What F does to extents.
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
                                        {{7, types::wide_numeric},
                                         {13, types::wide_numeric_bf16},
                                         {14, types::numeric_bf16}}}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{};

  constexpr void infer(Infer& i) const { infer_broadcast(i, combined<F>); }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<T> c) const {
    binary<F>(spec.name, a, b, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// The versions before: B is stretched over A only where `broadcast` says so, along A's axes from `axis` on.
template <Str Name, kernels::BinaryOp F>
struct Arithmetic_1 {
  Opt<int64_t> axis{};
  int64_t broadcast = 0;
  Ints consumed_inputs{};  ///< a memory hint that has no meaning today

  static constexpr Spec spec{.name = Name,
                             .since = {1, 6},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T"}},
                             .types = {{"T", {{1, types::floats}, {6, types::wide_numeric}}}},
                             .memory = Memory::elementwise};
  static constexpr Attributes attributes{attr("axis", &Arithmetic_1::axis),
                                         attr("broadcast", &Arithmetic_1::broadcast),
                                         attr("consumed_inputs", &Arithmetic_1::consumed_inputs).until(5)};

  constexpr void infer(Infer& i) const { infer_legacy_broadcast(i, broadcast, axis); }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<T> c) const {
    binary<F>(spec.name, a, {b.data(), legacy_extents(a.extents(), b.extents(), axis)}, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
