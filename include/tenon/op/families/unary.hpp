// The elementwise operators of one operand share types, the shape rule, and the way to the kernels.
#pragma once

#include "tenon/op/families/elementwise.hpp"

namespace tenon::op {

/// T of the functions of real numbers.
inline constexpr TypeVar real_types{"T", {{1, types::floats}, {13, types::floats_bf16}}};

/// The input's extents.
constexpr void infer_unary(Infer& i) { i.out(0, i.dims(0)); }
/// The same; `f` is the operator's arithmetic on propagated elements.
template <class F>
constexpr void infer_unary(Infer& i, F f) {
  i.out(0, i.dims(0));
  propagate_elements(i, [&](auto value) { return f(value(0)); });
}

/// y = f(x), element by element.
template <kernels::UnaryOp F, class T>
void unary(TensorView<const T> x, TensorView<T> y, kernels::UnaryParams p = {}) {
  kernels::unary<F>(x.data(), y.data(), x.size(), p);
}

}  // namespace tenon::op
