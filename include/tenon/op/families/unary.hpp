// The elementwise operators of one operand share types, the shape rule, and kernel calls.
#pragma once

#include "tenon/op/families/elementwise.hpp"

namespace tenon::TENON_ABI::op {

/// T of the functions of real numbers, of which the last version added bfloat16.
template <int... Since>
inline constexpr TypeVar real_types{"T", {{1, types::floats}, {std::max({Since...}), types::floats_bf16}}};

/// The input's extents.
constexpr void infer_unary(Infer& i) { i.out(0, i.dims(0)); }
/// The same; `f` is the operator's arithmetic on propagated elements.
template <class F>
constexpr void infer_unary(Infer& i, F f) {
  i.out(0, i.dims(0));
  propagate_elements(i, [&](auto value) { return f(value(0)); });
}

/// The bits of a float of any width.
template <class T>
constexpr uint64_t float_bits(T x) {
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<uint64_t>(x);
  else if constexpr (std::is_same_v<T, float>) return std::bit_cast<uint32_t>(x);
  else return x.bits;
}

/// y = f(x), element by element.
template <kernels::UnaryOp F, class T>
void unary(const TensorView<const T>& x, const TensorView<T>& y, kernels::UnaryParams p = {}) {
  kernels::unary<F>(x.data(), y.data(), x.size(), p);
}

/// Output = F(Input): a function of real numbers at the versions Since, with ONNX's names of the operands.
template <Str Name, kernels::UnaryOp F, Str Input, Str Output, int... Since>
struct RealFunction {
  static constexpr Spec spec{.name = Name,
                             .since = {Since...},
                             .inputs = {{Input, "T"}},
                             .outputs = {{Output, "T"}},
                             .types = {real_types<Since...>},
                             .elements = Elements::function};
  static constexpr auto attributes = [] {
    // Operators that have the hint lost it at version 6.
    if constexpr (((Since == 6) || ...)) return Attributes{consumed_inputs};
    else return no_attributes;
  }();

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<F>(x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// Y = F(X) with a parameter `alpha`, whose default is Alpha.
template <Str Name, kernels::UnaryOp F, Real Alpha, int... Since>
struct AlphaFunction {
  float alpha = static_cast<float>(Alpha.value);

  static constexpr Spec spec{.name = Name,
                             .since = {Since...},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {real_types<Since...>},
                             .elements = Elements::function};
  static constexpr Attributes attributes{attr("alpha", &AlphaFunction::alpha), consumed_inputs};

  constexpr void infer(Infer& i) const { infer_unary(i); }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    unary<F>(x, y, {.alpha = alpha});
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op
