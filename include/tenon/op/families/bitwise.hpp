// BitwiseAnd, BitwiseOr and BitwiseXor differ only in their names and kernels.
#pragma once

#include "tenon/op/families/elementwise.hpp"

namespace tenon::TENON_ABI::op {

/// C = F(A, B), bit by bit, with numpy's broadcasting.
template <Str Name, kernels::BinaryOp F>
struct Bitwise {
  static constexpr Spec spec{.name = Name,
                             .since = {18},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T"}},
                             .types = {{"T", types::integers}},
                             .elements = Elements::arithmetic};

  constexpr void infer(Infer& i) const { infer_broadcast(i); }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<T> c) const {
    binary<F>(spec.name, a, b, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op
