// Elementwise operators of several operands share shape rules and kernel calls.
#pragma once

#include "tenon/base/scratch.hpp"
#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/kernels/elementwise/fold.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// A propagated element as a type represents it: int32 wraps, bool is whether it differs from 0.
constexpr Dim held(DType dtype, Dim d) {
  switch (dtype) {
    case DType::int64: return d;
    case DType::int32: return d.known() ? Dim(static_cast<int32_t>(d.value())) : d;
    case DType::bool_: return d.known() ? Dim(d.value() != 0) : Dim();
    default: return {};
  }
}

/// Propagates elements, if no input has more than one axis: combine(value) is an element of the result,
/// value(k) the corresponding element of input k.
template <class F>
constexpr void propagate_elements(Infer& i, F combine) {
  int64_t n = 1;
  for (int k = 0; k < i.inputs(); ++k) {
    if (!i.propagates(k) || i.dims(k).rank() > 1) return;
    if (i.element_count(k) != 1) n = i.element_count(k);
  }
  PropagatedData& v = i.out(0).propagated;
  if (!v.begin(n)) return;
  for (int64_t e = 0; e < n; ++e) {
    const auto value = [&](int input) { return i.propagated(input, i.element_count(input) == 1 ? 0 : e); };
    v.push_back(held(i.out(0).type.element, combine(value)));
  }
}

/// The extents to which numpy's broadcasting stretches all inputs.
constexpr void infer_broadcast(Infer& i) {
  Dims d = i.dims(0);
  for (int k = 1; k < i.inputs() && !i.failed(); ++k) d = i.broadcast(d, i.dims(k));
  i.out(0, d);
}
/// The same for two inputs; `combine` is the operator's arithmetic on propagated elements.
template <class F>
constexpr void infer_broadcast(Infer& i, F combine) {
  infer_broadcast(i);
  if (i.failed()) return;
  propagate_elements(i, [&](auto value) {
    const Dim a = value(0), b = value(1), c = combine(a, b);
    const auto exists = [&](int k, Dim d) { return d.known() || i.in(k).data != nullptr; };
    if (exists(0, a) && exists(1, b) && !c.known()) i.out(0).propagated.undefined = true;
    return c;
  });
}
/// The extents that all inputs have.
constexpr void infer_same_extents(Infer& i) {
  Dims d = i.dims(0);
  for (int k = 1; k < i.inputs(); ++k) d = i.unify(d, i.dims(k), "extents");
  i.out(0, d);
}

/// c = f(a, b) with numpy's broadcasting. Error{invalid_argument} for an integer divided by zero.
template <kernels::BinaryOp F, class T>
void binary(std::string_view name, const TensorView<const T>& a, const TensorView<const T>& b,
            const TensorView<T>& c) {
  if (!kernels::binary<F>(a.data(), b.data(), c.data(), kernels::broadcast_plan(a.extents(), b.extents())))
    raise(ErrorCode::invalid_argument, name, "an integer is divided by zero");
}

/// y = f of all x with numpy's broadcasting; at least one x.
template <kernels::FoldOp F, class T>
void fold(std::span<const TensorView<const T>> x, TensorView<T> y) {
  const auto n = static_cast<int64_t>(x.size());
  Scratch scratch;
  auto* operands = scratch.take<kernels::FoldOperand<T>>(n);
  for (std::size_t k = 0; k < x.size(); ++k)
    operands[k] = {x[k].data(), kernels::broadcast_plan(x[k].extents(), y.extents())};
  kernels::fold(F, operands, n, y.data(), y.size());
}

}  // namespace tenon::TENON_ABI::op
