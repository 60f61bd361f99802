// Comparisons and the operators on bools share types, shape rules, and kernel calls.
#pragma once

#include "tenon/op/families/elementwise.hpp"

namespace tenon::TENON_ABI::op {

/// T1, the result of every comparison.
inline constexpr TypeVar comparison_result{"T1", types::boolean};

/// The comparison of propagated elements, as far as it is known. Symbols stand for extents, so they are at
/// least 0.
constexpr Dim compared(kernels::CompareOp op, Dim a, Dim b) {
  int64_t x = a.value(), y = b.value();
  if (a.same(b)) x = y = 0;
  else if (a.symbolic() && b.known() && y < 0) x = 0;
  else if (b.symbolic() && a.known() && x < 0) y = 0;
  else if (!a.known() || !b.known()) return {};
  switch (op) {
    case kernels::CompareOp::equal: return x == y;
    case kernels::CompareOp::less: return x < y;
    case kernels::CompareOp::less_equal: return x <= y;
    case kernels::CompareOp::greater: return x > y;
    case kernels::CompareOp::greater_equal: return x >= y;
  }
  return {};
}

/// c = f(a, b) with numpy's broadcasting, for every number type, bool and string.
template <kernels::CompareOp F, class T>
void compare(TensorView<const T> a, TensorView<const T> b, TensorView<bool> c) {
  const auto plan = kernels::broadcast_plan(a.extents(), b.extents());
  if constexpr (std::is_same_v<T, std::string>) {
    static_assert(F == kernels::CompareOp::equal, "strings have no order in ONNX");
    kernels::binary_each(a.data(), b.data(), c.data(), plan, [](const T& x, const T& y) { return x == y; });
  } else if constexpr (std::is_same_v<T, bool>) {
    const auto bytes = [](const bool* p) { return reinterpret_cast<const uint8_t*>(p); };
    kernels::compare<F>(bytes(a.data()), bytes(b.data()), c.data(), plan);
  } else {
    kernels::compare<F>(a.data(), b.data(), c.data(), plan);
  }
}

/// C = F(A, B) with numpy's broadcasting.
template <Str Name, kernels::CompareOp F>
struct Comparison {
  static constexpr bool equality = F == kernels::CompareOp::equal,
                        strict = F == kernels::CompareOp::less || F == kernels::CompareOp::greater;
  static constexpr Spec spec{
      .name = Name,
      .since = equality ? List<int16_t, 10>{7, 11, 13, 19}
               : strict ? List<int16_t, 10>{7, 9, 13}
                        : List<int16_t, 10>{12, 16},
      .inputs = {{"A", "T"}, {"B", "T"}},
      .outputs = {{"C", "T1"}},
      .types = {equality ? TypeVar("T", {{1, types::indices | types::boolean},
                                         {11, types::numeric | types::boolean},
                                         {13, types::numeric_bf16 | types::boolean},
                                         {19, types::numeric_bf16 | types::boolean | types::string}})
                : strict ? TypeVar("T", {{1, types::floats}, {9, types::numeric}, {13, types::numeric_bf16}})
                         : TypeVar("T", {{12, types::numeric}, {16, types::numeric_bf16}}),
                comparison_result},
      .elements = Elements::arithmetic};

  constexpr void infer(Infer& i) const {
    infer_broadcast(i, [](Dim a, Dim b) { return compared(F, a, b); });
  }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<bool> c) const {
    compare<F>(a, b, c);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// c = f(a, b) on bools with numpy's broadcasting.
template <kernels::LogicOp F>
void logic(TensorView<const bool> a, TensorView<const bool> b, TensorView<bool> c) {
  kernels::logic(F, a.data(), b.data(), c.data(), kernels::broadcast_plan(a.extents(), b.extents()));
}

}  // namespace tenon::TENON_ABI::op
