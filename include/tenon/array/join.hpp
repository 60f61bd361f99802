// Joining: concat joins tensors along an axis, stack along a new one.
//
// If the axis is known at compile time, results are typed, and tensors that do not fit do not compile:
//
//     concat<0>(a, b)            of (2,3) and (1,3): Tensor<float, Shape<3, 3>>
//     stack<0>(a, b)             of (2,3) twice: Tensor<float, Shape<2, 2, 3>>
//     concat(rows, axis)         of a std::vector<Tensor<float>>
#pragma once

#include <ranges>
#include <vector>

#include "tenon/array/shape.hpp"
#include "tenon/op/tensor/concat.hpp"

namespace tenon::TENON_ABI {

namespace array_detail {

/// A Tensor or a TensorView.
template <class X>
concept Typed = requires { typename X::shape_type; } && op::Operand<X>::typed;
/// A Typed, or an expression that is computed when it is joined.
template <class X>
concept Joinable = Typed<X> || Lazy<X>;
/// A container of tensors, whose number is known at run time.
template <class R>
concept TypedRange = std::ranges::forward_range<const R> && Typed<std::ranges::range_value_t<const R>>;

/// A read-only view with the tensor's shape.
template <class T, class S>
TensorView<const T, S> part(const Tensor<T, S>& t) {
  return t.view();
}
template <class T, class S>
TensorView<const std::remove_const_t<T>, S> part(const TensorView<T, S>& v) {
  return v;
}

/// The view's elements with one axis more, of extent 1.
template <int64_t Axis, class T, class S>
auto with_axis(const TensorView<T, S>& v) {
  if (!v) raise(ErrorCode::invalid_argument, "stack", "a tensor is absent");
  if constexpr (S::rank < 0) {
    const int rank = v.rank();
    if (Axis < -rank - 1 || Axis > rank)
      raise(ErrorCode::out_of_range, "stack", "axis ", Axis, " of a result of ", rank + 1, " axes");
    Extents extents(v.extents());
    extents.insert(resolve_axis(Axis, rank + 1), 1);
    return TensorView<T>(v.data(), extents);
  } else {
    static_assert(Axis >= -S::rank - 1 && Axis <= S::rank, "stack: the result has no such axis");
    constexpr int at = resolve_axis(Axis, S::rank + 1);
    using To = typename Inserted<S, static_cast<std::size_t>(at)>::type;
    Extents extents(v.extents());
    extents.insert(at, 1);
    return TensorView<T, To>(v.data(), extents);
  }
}

/// The shape of a join of a run-time number of tensors: their rank plus `More`, or AnyShape.
template <class S, std::size_t More>
struct JoinedShape {
  using type = DynamicShape<static_cast<std::size_t>(S::rank) + More>;
};
template <std::size_t More>
struct JoinedShape<AnyShape, More> {
  using type = AnyShape;
};
template <class R>
using PartOf = std::ranges::range_value_t<const R>;
template <class R, std::size_t More>
using Joined =
    Tensor<typename PartOf<R>::value_type, typename JoinedShape<typename PartOf<R>::shape_type, More>::type>;

/// The join of views along `axis`, counted from the front; `place` is named in errors.
template <class Result, class T>
Result join(std::string_view place, const std::vector<TensorView<const T>>& parts, int64_t axis) {
  const auto refuse = [&](ErrorCode code, const std::string& why) { raise(code, place, why); };
  if (parts.empty()) refuse(ErrorCode::invalid_argument, "no tensors");
  Extents extents(parts[0].extents());
  if (axis < -extents.size() || axis >= extents.size())
    refuse(ErrorCode::out_of_range, str_cat("axis ", axis, " of extents ", to_string(extents)));
  const int along = resolve_axis(axis, extents.size());
  extents[along] = 0;
  std::vector<AnyView> views;
  for (const TensorView<const T>& x : parts) {
    if (!x) refuse(ErrorCode::invalid_argument, "a tensor is absent");
    Extents expected = extents;
    if (x.rank() == extents.size()) expected[along] = x.extent(along);
    if (!std::ranges::equal(x.extents(), expected))
      refuse(ErrorCode::invalid_shape, str_cat("extents ", to_string(parts[0].extents()), " and ",
                                               to_string(x.extents()), " differ off axis ", along));
    if (tenon::detail::add_overflow(extents[along], x.extent(along), &extents[along]))
      refuse(ErrorCode::invalid_shape, "the extents overflow");
    views.emplace_back(x);
  }
  auto t = named(place, [&] { return Result::uninitialized(extents); });
  op::Concat{.axis = along}.compute(views, t.view());
  return t;
}

}  // namespace array_detail

/// Concatenates tensors whose extents differ at most along `Axis`: op::Concat, with its element types.
/// concat<-1>(x, y). If the axis or the number of tensors is known only at run time: concat(tensors, axis).
template <int64_t Axis, array_detail::Joinable First, array_detail::Joinable... Rest>
[[nodiscard]] auto concat(const First& first, const Rest&... rest) {
  return apply<op::Concat{.axis = Axis}>(first, rest...);
}
/// The same for a container of tensors or views. concat(std::vector{x.view(), y.view()}, 0).
/// Error{invalid_argument} for an empty container, Error{out_of_range} for an axis that the tensors do not
/// have, Error{invalid_shape} if they do not fit.
template <array_detail::TypedRange R, std::integral I>
array_detail::Joined<R, 0> concat(const R& tensors, I axis) {
  using X = array_detail::PartOf<R>;
  std::vector<TensorView<const typename X::value_type>> parts;
  for (const X& x : tensors) parts.push_back(array_detail::part(x));
  return array_detail::join<array_detail::Joined<R, 0>>("concat", parts, static_cast<int64_t>(axis));
}

/// Tensors of the same extents along a new axis, which is `Axis` of the result. stack<0>(x, y) of (2,3) twice
/// gives (2,2,3), stack<-1>(x, y) gives (2,3,2).
template <int64_t Axis, array_detail::Joinable First, array_detail::Joinable... Rest>
[[nodiscard]] auto stack(const First& first, const Rest&... rest) {
  return concat<Axis>(array_detail::with_axis<Axis>(array_detail::part(op::ready(first))),
                      array_detail::with_axis<Axis>(array_detail::part(op::ready(rest)))...);
}
/// The same for a container of tensors or views, with the same errors. stack(images, 0).
template <array_detail::TypedRange R, std::integral I>
array_detail::Joined<R, 1> stack(const R& tensors, I axis) {
  using X = array_detail::PartOf<R>;
  std::vector<TensorView<const typename X::value_type>> parts;
  for (const X& x : tensors) {
    const auto v = array_detail::part(x);
    Extents extents(v.extents());
    if (!v) raise(ErrorCode::invalid_argument, "stack", "a tensor is absent");
    if (parts.size() > 0 && v.rank() + 1 != parts[0].rank())
      raise(ErrorCode::invalid_shape, "stack", "the ranks differ");
    if (static_cast<int64_t>(axis) < -v.rank() - 1 || static_cast<int64_t>(axis) > v.rank())
      raise(ErrorCode::out_of_range, "stack", "axis ", axis, " of a result of ", v.rank() + 1, " axes");
    extents.insert(resolve_axis(static_cast<int64_t>(axis), v.rank() + 1), 1);
    parts.emplace_back(v.data(), extents, v.size());
  }
  return array_detail::join<array_detail::Joined<R, 1>>("stack", parts, static_cast<int64_t>(axis));
}

}  // namespace tenon::TENON_ABI
