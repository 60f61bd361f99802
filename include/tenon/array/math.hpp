// Functions of whole tensors under their usual names: products, reductions, softmax, changes of extents. Each
// is an ONNX operator and computed immediately; operands may be expressions and slices.
//
// Axes in angle brackets are known to the compiler, and so are the result's extents: sum<1>(x). Axes in
// braces are known at run time: sum(x, {axis}). Negative ones count from the end. Reduced axes are removed,
// unless `keepdims` follows: x - mean<0>(x, keepdims).
#pragma once

#include "tenon/array/arithmetic.hpp"
#include "tenon/array/shape.hpp"
#include "tenon/op/math/clip.hpp"
#include "tenon/op/math/log_softmax.hpp"
#include "tenon/op/math/mat_mul.hpp"
#include "tenon/op/math/softmax.hpp"
#include "tenon/op/reduction/arg_max.hpp"
#include "tenon/op/reduction/arg_min.hpp"
#include "tenon/op/reduction/reduce_max.hpp"
#include "tenon/op/reduction/reduce_mean.hpp"
#include "tenon/op/reduction/reduce_min.hpp"
#include "tenon/op/reduction/reduce_prod.hpp"
#include "tenon/op/reduction/reduce_sum.hpp"
#include "tenon/op/tensor/cast.hpp"
#include "tenon/op/tensor/reshape.hpp"
#include "tenon/op/tensor/transpose.hpp"

namespace tenon::TENON_ABI {

namespace array_detail {

/// Reduced axes are kept with extent 1.
struct KeepDims {};

/// A list in braces as an operand.
template <std::size_t N>
TensorView<const int64_t, Shape<static_cast<int64_t>(N)>> list(const int64_t (&v)[N]) {
  return {v, {static_cast<int64_t>(N)}};
}

/// The reduction Op over the axes K…, over all axes if no K is given, or over the axes of a list.
template <class Op, bool Keep, int64_t... K, class A>
auto reduce(const A& x) {
  constexpr Op known{.keepdims = Keep};
  if constexpr (sizeof...(K) == 0) return apply<known>(x);
  else return apply<known>(x, constant<int64_t, K...>);
}
template <class Op, bool Keep, class A, std::size_t N>
auto reduce(const A& x, const int64_t (&axes)[N]) {
  return apply<Op{.keepdims = Keep}>(x, list(axes));
}

}  // namespace array_detail

inline constexpr array_detail::KeepDims keepdims;

/// The product of matrices, vectors and batches of matrices, as in numpy: op::MatMul. (2,3) and (3,4) give
/// (2,4).
template <Array A, Array B>
auto matmul(const A& a, const B& b) {
  return op::MatMul{}(a, b);
}

/// Whether any of the bools is true: any(x < 0). all(x < 0) is in slice.hpp.
template <Array A>
  requires std::is_same_v<array_detail::element_of<A>, bool>
bool any(const A& x) {
  const auto& t = op::ready(x);
  if (!array_detail::present(t)) raise(ErrorCode::invalid_shape, "any", "the tensor holds nothing");
  return std::find(t.begin(), t.end(), true) != t.end();
}

/// The sum over axes, by default all: op::ReduceSum. sum<1>(x) of (2,3) gives (2), sum(x) gives ().
template <int64_t... Axes, Array A>
auto sum(const A& x) {
  return array_detail::reduce<op::ReduceSum, false, Axes...>(x);
}
template <int64_t... Axes, Array A>
auto sum(const A& x, array_detail::KeepDims) {
  return array_detail::reduce<op::ReduceSum, true, Axes...>(x);
}
template <Array A, std::size_t N>
auto sum(const A& x, const int64_t (&axes)[N]) {
  return array_detail::reduce<op::ReduceSum, false>(x, axes);
}
template <Array A, std::size_t N>
auto sum(const A& x, const int64_t (&axes)[N], array_detail::KeepDims) {
  return array_detail::reduce<op::ReduceSum, true>(x, axes);
}

/// The mean over axes, by default all: op::ReduceMean.
template <int64_t... Axes, Array A>
auto mean(const A& x) {
  return array_detail::reduce<op::ReduceMean, false, Axes...>(x);
}
template <int64_t... Axes, Array A>
auto mean(const A& x, array_detail::KeepDims) {
  return array_detail::reduce<op::ReduceMean, true, Axes...>(x);
}
template <Array A, std::size_t N>
auto mean(const A& x, const int64_t (&axes)[N]) {
  return array_detail::reduce<op::ReduceMean, false>(x, axes);
}
template <Array A, std::size_t N>
auto mean(const A& x, const int64_t (&axes)[N], array_detail::KeepDims) {
  return array_detail::reduce<op::ReduceMean, true>(x, axes);
}

/// The product over axes, by default all: op::ReduceProd.
template <int64_t... Axes, Array A>
auto prod(const A& x) {
  return array_detail::reduce<op::ReduceProd, false, Axes...>(x);
}
template <int64_t... Axes, Array A>
auto prod(const A& x, array_detail::KeepDims) {
  return array_detail::reduce<op::ReduceProd, true, Axes...>(x);
}
template <Array A, std::size_t N>
auto prod(const A& x, const int64_t (&axes)[N]) {
  return array_detail::reduce<op::ReduceProd, false>(x, axes);
}
template <Array A, std::size_t N>
auto prod(const A& x, const int64_t (&axes)[N], array_detail::KeepDims) {
  return array_detail::reduce<op::ReduceProd, true>(x, axes);
}

/// The greatest element over axes, by default all: op::ReduceMax. max(x, y) is element by element.
template <int64_t... Axes, Array A>
auto max(const A& x) {
  return array_detail::reduce<op::ReduceMax, false, Axes...>(x);
}
template <int64_t... Axes, Array A>
auto max(const A& x, array_detail::KeepDims) {
  return array_detail::reduce<op::ReduceMax, true, Axes...>(x);
}
template <Array A, std::size_t N>
auto max(const A& x, const int64_t (&axes)[N]) {
  return array_detail::reduce<op::ReduceMax, false>(x, axes);
}
template <Array A, std::size_t N>
auto max(const A& x, const int64_t (&axes)[N], array_detail::KeepDims) {
  return array_detail::reduce<op::ReduceMax, true>(x, axes);
}

/// The least element over axes, by default all: op::ReduceMin. min(x, y) is element by element.
template <int64_t... Axes, Array A>
auto min(const A& x) {
  return array_detail::reduce<op::ReduceMin, false, Axes...>(x);
}
template <int64_t... Axes, Array A>
auto min(const A& x, array_detail::KeepDims) {
  return array_detail::reduce<op::ReduceMin, true, Axes...>(x);
}
template <Array A, std::size_t N>
auto min(const A& x, const int64_t (&axes)[N]) {
  return array_detail::reduce<op::ReduceMin, false>(x, axes);
}
template <Array A, std::size_t N>
auto min(const A& x, const int64_t (&axes)[N], array_detail::KeepDims) {
  return array_detail::reduce<op::ReduceMin, true>(x, axes);
}

/// The index of the greatest element along an axis, the first of equals: op::ArgMax. argmax<-1>(x) of (2,3)
/// gives (2).
template <int64_t Axis, Array A>
auto argmax(const A& x) {
  return apply<op::ArgMax{.axis = Axis, .keepdims = 0}>(x);
}
template <Array A>
auto argmax(const A& x, int64_t axis) {
  return op::ArgMax{.axis = axis, .keepdims = 0}(x);
}
/// The index of the least element along an axis: op::ArgMin.
template <int64_t Axis, Array A>
auto argmin(const A& x) {
  return apply<op::ArgMin{.axis = Axis, .keepdims = 0}>(x);
}
template <Array A>
auto argmin(const A& x, int64_t axis) {
  return op::ArgMin{.axis = axis, .keepdims = 0}(x);
}

/// exp(x) scaled to sum 1 along an axis, by default the last: op::Softmax. softmax<0>(x)
template <int64_t Axis = -1, Array A>
auto softmax(const A& x) {
  return apply<op::Softmax{.axis = Axis}>(x);
}
template <Array A>
auto softmax(const A& x, int64_t axis) {
  return op::Softmax{.axis = axis}(x);
}
/// log(softmax(x)), accurate for small values: op::LogSoftmax.
template <int64_t Axis = -1, Array A>
auto log_softmax(const A& x) {
  return apply<op::LogSoftmax{.axis = Axis}>(x);
}
template <Array A>
auto log_softmax(const A& x, int64_t axis) {
  return op::LogSoftmax{.axis = axis}(x);
}

/// The elements limited to the range between two numbers: op::Clip. clip(x, 0.0f, 1.0f)
template <Array A, array_detail::Scalar N>
auto clip(const A& x, N low, N high) {
  using T = array_detail::element_of<A>;
  return op::Clip{}(x, array_detail::number<T>("Clip", low).value,
                    array_detail::number<T>("Clip", high).value);
}

/// The elements as another type: op::Cast. cast<float>(i)
template <Element T, Array A>
auto cast(const A& x) {
  using From = array_detail::element_of<A>;
  if constexpr (std::is_arithmetic_v<T> && std::is_arithmetic_v<From>) {
    // op::Cast would be compiled for all pairs of types, which takes seconds.
    const auto& from = op::ready(x);
    if (!array_detail::present(from)) op::detail::raise_missing(op::Cast::spec, 0);
    auto y = Tensor<T, typename array_detail::Source<A>::shape>::uninitialized(from.extents());
    parallel_for(from.size(), 16384, [&](int64_t begin, int64_t end) {
      convert_n(y.data() + begin, from.data() + begin, end - begin);
    });
    return y;
  } else {
    return apply<op::Cast{.to = dtype<T>}>(x);
  }
}

/// Axis k of the result is axis Perm[k] of x; without Perm they are in the reverse order: op::Transpose.
/// transpose<0, 2, 1>(x) of (2,3,4) gives (2,4,3).
template <int64_t... Perm, Array A>
auto transpose(const A& x) {
  return apply<op::Transpose{.perm = {Perm...}}>(x);
}
/// The elements with other extents, of which one may be -1 and is inferred, unless another is 0: op::Reshape
/// with allowzero, because an extent of 0 is not the tensor's. reshape<2, -1>(x), reshape<Shape<2, dyn>>(x),
/// reshape(x, {n, -1}).
template <int64_t... To, Array A>
  requires(sizeof...(To) > 0)
auto reshape(const A& x) {
  return apply<op::Reshape{.allowzero = 1}>(x, constant<int64_t, To...>);
}
template <class S, Array A>
  requires array_detail::is_shape<S>
auto reshape(const A& x) {
  return [&]<int64_t... To>(Shape<To...>) {
    return apply<op::Reshape{.allowzero = 1}>(x, constant<int64_t, To...>);
  }(S{});
}
template <Array A, std::size_t N>
auto reshape(const A& x, const int64_t (&to)[N]) {
  return apply<op::Reshape{.allowzero = 1}>(x, array_detail::list(to));
}

}  // namespace tenon::TENON_ABI
