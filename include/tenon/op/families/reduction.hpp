// The reductions share the choice of axes, the extents of the result, and kernel calls.
#pragma once

#include <algorithm>
#include <limits>

#include "tenon/base/scratch.hpp"
#include "tenon/kernels/reduce/arg_reduce.hpp"
#include "tenon/kernels/reduce/reduce.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// T of ReduceMax and ReduceMin.
inline constexpr TypeVar extremum_types{
    "T",
    {{1, types::wide_numeric},
     {12, types::wide_numeric | types::int8 | types::uint8},
     {13, types::wide_numeric_bf16 | types::int8 | types::uint8},
     {20, types::wide_numeric_bf16 | types::int8 | types::uint8 | types::boolean}}};

/// A bit for each axis that is reduced. No axes stand for all of them, or with `noop` for none. Axes are
/// valid.
constexpr uint32_t reduced_axes(std::span<const int64_t> axes, int rank, bool noop = false) {
  if (axes.empty()) return noop ? 0u : (1u << rank) - 1;
  uint32_t mask = 0;
  for (int64_t a : axes) mask |= 1u << resolve_axis(a, rank);
  return mask;
}

/// Stands for no fold: elements are not propagated.
struct NoFold {};

/// The extents of the result for known axes. `fold(so_far, element)` propagates the elements of a vector.
template <class Fold = NoFold>
constexpr void infer_reduction(Infer& i, std::span<const int64_t> axes, bool keepdims, bool noop = false,
                               Fold fold = {}) {
  const Dims& x = i.dims(0);
  if (!x.ranked()) return;
  i.axes(axes, x.rank());
  if (i.failed()) return;
  const uint32_t mask = reduced_axes(axes, x.rank(), noop);
  Dims y = Dims::of_rank(0);
  for (int k = 0; k < x.rank(); ++k) {
    if (!(mask >> k & 1)) y.push_back(x[k]);
    else if (keepdims) y.push_back(1);
  }
  i.out(0, y);
  if constexpr (!std::is_same_v<Fold, NoFold>) {
    if (x.rank() != 1 || mask == 0 || !x[0].known() || !i.propagates(0)) return;
    PropagatedData& v = i.out(0).propagated;
    if (x[0].value() < 1 || !v.begin(x[0].value())) return;
    Dim folded = i.propagated(0, 0);
    for (int64_t k = 1; k < x[0].value(); ++k) folded = fold(folded, i.propagated(0, k));
    v.push_back(folded);
  }
}

/// The same for axes that input 1 states, if present.
template <class Fold = NoFold>
constexpr void infer_reduction_of_input(Infer& i, bool keepdims, bool noop, Fold fold = {}) {
  const Dims& x = i.dims(0);
  const Dim count = i.dims(1).count();
  Ints axes;
  if (!i.expect_rank(1, 1)) return;
  if (!i.has(1) || count.is(0) || i.ints(1, axes)) return infer_reduction(i, axes, keepdims, noop, fold);
  if (i.failed() || !x.ranked()) return;
  if (keepdims) return i.out(0, Dims::of_rank(x.rank()));
  if (Dim(x.rank()).below(count)) return i.fail(count, " axes for rank ", x.rank());
  i.out(0, i.of_rank(Dim(x.rank()) - count));
}

/// (upper * 2^32 + lower) / count, truncated. lower >= 0, count < 2^32, and the quotient fits T.
template <class T>
constexpr T divide_halves(T upper, T lower, int64_t count) {
  constexpr uint64_t half = 0xffffffff;
  uint64_t high = static_cast<uint64_t>(upper) + (static_cast<uint64_t>(lower) >> 32);
  uint64_t low = static_cast<uint64_t>(lower) & half;
  const bool negative = static_cast<T>(high) < 0;
  if (negative) {
    high = low == 0 ? 0 - high : ~high;
    low = (0 - low) & half;
  }
  const auto n = static_cast<uint64_t>(count);
  const uint64_t quotient = (high / n << 32) + ((high % n << 32) | low) / n;
  return static_cast<T>(negative ? 0 - quotient : quotient);
}

/// Truncated means of the n 64-bit integers at x, whose sums do not fit 64 bits: sums of their upper and of
/// their lower halves do.
template <class T>
void mean_by_halves(const T* x, int64_t n, T* y, const kernels::ReducePlan& plan) {
  Scratch scratch;
  T *upper = scratch.take<T>(n), *lower = scratch.take<T>(n), *rest = scratch.take<T>(plan.kept);
  for (int64_t k = 0; k < n; ++k) {
    upper[k] = x[k] >> 32;
    lower[k] = x[k] & 0xffffffff;
  }
  kernels::reduce<kernels::ReduceOp::sum>(upper, y, plan);
  kernels::reduce<kernels::ReduceOp::sum>(lower, rest, plan);
  for (int64_t k = 0; k < plan.kept; ++k) y[k] = divide_halves(y[k], rest[k], plan.reduced);
}

/// y = F of x over the axes of `mask`. The minimum of no bools is true.
template <kernels::ReduceOp F, class T>
void reduce(TensorView<const T> x, uint32_t mask, TensorView<T> y) {
  if (y.empty()) return;
  Extents extents(x.extents());
  // The product of some extents of an empty tensor may overflow.
  for (int k = 0; k < x.rank(); ++k)
    if (x.empty() && (mask >> k & 1)) extents[k] = 0;
  const kernels::ReducePlan plan = kernels::reduce_plan(extents, mask);
  if constexpr (F == kernels::ReduceOp::mean && std::is_integral_v<T> && sizeof(T) == 8) {
    const T most = std::numeric_limits<T>::max() / static_cast<T>(std::max<int64_t>(1, plan.reduced));
    const auto fits = [most](T v) { return v <= most && (std::is_unsigned_v<T> || v >= T(0) - most); };
    if (!std::all_of(x.begin(), x.end(), fits)) return mean_by_halves(x.data(), x.size(), y.data(), plan);
  }
  if constexpr (!std::is_same_v<T, bool>) kernels::reduce<F>(x.data(), y.data(), plan);
  else if (x.empty()) std::fill_n(y.data(), y.size(), F == kernels::ReduceOp::min);
  else
    kernels::reduce<F>(reinterpret_cast<const uint8_t*>(x.data()), reinterpret_cast<uint8_t*>(y.data()),
                       plan);
}

/// y = F of x over the axes that a list gives.
template <kernels::ReduceOp F, class T>
void reduce(TensorView<const T> x, std::span<const int64_t> axes, bool noop, TensorView<T> y) {
  reduce<F>(x, reduced_axes(axes, x.rank(), noop), y);
}

/// F of data over `axes`, by default all, with noop_with_empty_axes none. As in ONNX, any `keepdims` but 1
/// drops them.
template <Str Name, kernels::ReduceOp F>
struct Reduction {
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;

  static constexpr bool extremum = F == kernels::ReduceOp::max || F == kernels::ReduceOp::min;
  /// The first version whose axes are an input.
  static constexpr int axes_input = F == kernels::ReduceOp::sum ? 13 : 18;
  static constexpr Spec spec{
      .name = Name,
      .since = extremum           ? List<int16_t, 10>{1, 11, 12, 13, 18, 20}
               : axes_input == 13 ? List<int16_t, 10>{1, 11, 13}
                                  : List<int16_t, 10>{1, 11, 13, 18},
      .inputs = {{"data", "T"},
                 {.name = "axes", .type = "tensor(int64)", .arity = optional, .since = axes_input}},
      .outputs = {{"reduced", "T"}},
      .types = {extremum ? extremum_types
                         : TypeVar("T", {{1, types::wide_numeric}, {13, types::wide_numeric_bf16}})}};
  static constexpr Attributes attributes{
      attr("keepdims", &Reduction::keepdims),
      attr("noop_with_empty_axes", &Reduction::noop_with_empty_axes).flag().since(axes_input),
      attr_as_input<std::vector<int64_t>>("axes", 1).until(axes_input - 1)};

  constexpr void infer(Infer& i) const {
    const bool keep = keepdims == 1, noop = noop_with_empty_axes != 0;
    if constexpr (F == kernels::ReduceOp::prod)
      infer_reduction_of_input(i, keep, noop, [](Dim a, Dim b) { return a * b; });
    else if constexpr (F == kernels::ReduceOp::sum)
      infer_reduction_of_input(i, keep, noop, [](Dim a, Dim b) { return a + b; });
    else infer_reduction_of_input(i, keep, noop);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const int64_t> axes, TensorView<T> y) const {
    reduce<F>(x, axes.span(), noop_with_empty_axes != 0, y);
  }
  template <class L>
  void loops(L& l) const {
    const Dims& x = l.dims(0);
    Ints axes;
    if (!x.ranked() || !l.integers(1, axes)) return;
    const uint32_t mask = reduced_axes(axes, x.rank(), noop_with_empty_axes != 0);
    for (int k = 0, kept = 0; k < x.rank(); ++k) {
      const bool gone = mask >> k & 1;
      if (!gone) l.over({{0, k}}, {{0, keepdims == 1 ? k : kept}});
      else if (F == kernels::ReduceOp::sum) l.sum({{0, k}});
      kept += !gone;
    }
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

/// The index along `axis` of the greatest (or least) element: the first of equals, or the last with
/// select_last_index.
template <Str Name, bool Greatest>
struct ArgReduction {
  int64_t axis = 0;
  int64_t keepdims = 1;
  int64_t select_last_index = 0;

  static constexpr Spec spec{.name = Name,
                             .since = {1, 11, 12, 13},
                             .inputs = {{"data", "T"}},
                             .outputs = {{"reduced", "tensor(int64)"}},
                             .types = {{"T", {{1, types::numeric}, {13, types::numeric_bf16}}}}};
  static constexpr Attributes attributes{
      attr("axis", &ArgReduction::axis), attr("keepdims", &ArgReduction::keepdims),
      attr("select_last_index", &ArgReduction::select_last_index).flag().since(12)};

  constexpr void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    if (!x.ranked()) return;
    const int a = i.axis(axis, x.rank());
    if (i.failed()) return;
    if (x[a].is(0)) return i.fail("no element along axis ", a, " of ", x);
    infer_reduction(i, std::span(&axis, 1), keepdims == 1);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<int64_t> y) const {
    if (y.empty()) return;
    const auto [outer, extent, inner] = split_at(x.extents(), resolve_axis(axis, x.rank()));
    kernels::arg_reduce(Greatest, select_last_index != 0, x.data(), y.data(), outer, extent, inner);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op
