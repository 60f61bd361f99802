// Mul: C = A * B.   onnx.ai/onnx/operators/onnx__Mul.html
#pragma once

#include "tenon/op/elementwise.hpp"

namespace tenon::op {

/// C = A * B with numpy's broadcasting; integers wrap.
struct Mul {
  static constexpr Spec spec{.name = "Mul",
                             .since = {7, 13, 14},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T"}},
                             .types = {arithmetic_types},
                             .memory = Memory::elementwise};
  static constexpr std::tuple attributes{};

  constexpr void infer(Infer& i) const {
    infer_broadcast(i, [](Dim a, Dim b) { return a * b; });
  }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<T> c) const {
    binary<kernels::BinaryOp::mul>(spec.name, a, b, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// B is stretched over A only where `broadcast` says so, along A's axes from `axis` on.
struct Mul_1 {
  Opt<int64_t> axis{};
  int64_t broadcast = 0;
  Ints consumed_inputs{};  ///< a memory hint that has no meaning today

  static constexpr Spec spec{.name = "Mul",
                             .since = {1, 6},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T"}},
                             .types = {arithmetic_types_1},
                             .memory = Memory::elementwise};
  static constexpr std::tuple attributes{attr("axis", &Mul_1::axis), attr("broadcast", &Mul_1::broadcast),
                                         attr("consumed_inputs", &Mul_1::consumed_inputs).until(5)};

  constexpr void infer(Infer& i) const { infer_legacy_broadcast(i, broadcast, axis); }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<T> c) const {
    Mul{}.compute(a, {b.data(), legacy_extents(a.extents(), b.extents(), axis)}, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::op
