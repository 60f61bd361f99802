// What the elementwise operators of two operands share: types, shape rules, and the way to the kernels.
#pragma once

#include "tenon/kernels/elementwise.hpp"
#include "tenon/op/call.hpp"

namespace tenon::op {

/// T of Add, Sub, Mul and Div since version 7.
inline constexpr TypeVar arithmetic_types{
    "T", {{7, types::wide_numeric}, {13, types::wide_numeric_bf16}, {14, types::numeric_bf16}}};
/// T of the same operators at versions 1 and 6.
inline constexpr TypeVar arithmetic_types_1{"T", {{1, types::floats}, {6, types::wide_numeric}}};

/// Broadcasting extents; `combine` carries shape arithmetic (int64 operands whose elements are known) through.
template <class F>
constexpr void infer_broadcast(Infer& i, F combine) {
  i.out(0, i.broadcast(i.dims(0), i.dims(1)));
  if (i.failed() || !i.known(0) || !i.known(1) || i.dims(0).rank() > 1 || i.dims(1).rank() > 1) return;
  const int64_t a = i.count(0), b = i.count(1);
  Values& v = i.out(0).values;
  const int64_t n = a == 0 || b == 0 ? 0 : std::max(a, b);
  if (!v.begin(n)) return;
  for (int64_t k = 0; k < n; ++k) v.push_back(combine(i.value(0, a == 1 ? 0 : k), i.value(1, b == 1 ? 0 : k)));
}
constexpr void infer_broadcast(Infer& i) { i.out(0, i.broadcast(i.dims(0), i.dims(1))); }

/// c = f(a, b) with numpy's broadcasting. Error{invalid_argument} for an integer divided by zero.
template <kernels::BinaryOp F, class T>
void binary(std::string_view name, TensorView<const T> a, TensorView<const T> b, TensorView<T> c) {
  if (!kernels::binary<F>(a.data(), b.data(), c.data(), kernels::broadcast_plan(a.extents(), b.extents())))
    raise(ErrorCode::invalid_argument, name, "an integer is divided by zero");
}

/// Before version 7, B was stretched only on request, and lay along A's axes from `axis` on (default: the last ones).
constexpr void infer_legacy_broadcast(Infer& i, int64_t broadcast, const Opt<int64_t>& axis) {
  const Dims &a = i.dims(0), &b = i.dims(1);
  i.out(0, a);
  if (!a.ranked() || !b.ranked()) return;
  if (!broadcast) {
    if (a.rank() != b.rank()) return i.fail("extents ", a, " and ", b, " differ, and broadcast is 0");
    for (int k = 0; k < a.rank(); ++k) i.unify(a[k], b[k], "extents without broadcast");
    return;
  }
  const int64_t first = axis ? (*axis < 0 ? *axis + a.rank() : *axis) : a.rank() - b.rank();
  if (first < 0 || first + b.rank() > a.rank()) return i.fail("B ", b, " does not lie within A ", a, " from axis ", first);
  for (int k = 0; k < b.rank(); ++k)
    if (!b[k].is(1)) i.unify(a[static_cast<int>(first) + k], b[k], "extents");
}

/// B's extents with ones behind, so that today's broadcasting aligns them as `axis` says.
constexpr Extents legacy_extents(std::span<const int64_t> a, std::span<const int64_t> b, const Opt<int64_t>& axis) {
  const int rank = static_cast<int>(a.size());
  Extents e(b);
  if (!axis) return e;
  const int64_t first = *axis < 0 ? *axis + rank : *axis;
  while (first + e.size() < rank) e.push_back(1);
  return e;
}

}  // namespace tenon::op
