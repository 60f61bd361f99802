// Operands of expressions: tensors, views and numbers, and the form in which expressions hold them.
#pragma once

#include <utility>

#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI {

template <class Op, class... X>
class Expression;

namespace array_detail {

/// The elements of an rvalue tensor, kept by the expression that it is part of.
template <class T, class S>
class Held {
 public:
  using value_type = T;
  using shape_type = S;
  Held(Tensor<T, S>&& t) : view_(std::as_const(t).view()), storage_(std::move(t).storage()) {}
  Held(const Tensor<T, S>& t) : view_(t.view()), storage_(t.storage()) {}
  const TensorView<const T, S>& view() const { return view_; }
  std::span<const int64_t> extents() const { return view_.extents(); }
  int64_t size() const { return view_.size(); }

 private:
  TensorView<const T, S> view_;
  Storage storage_;
};

/// A number among tensor operands.
template <class T>
struct Number {
  using value_type = T;
  using shape_type = Shape<>;
  T value;
  static constexpr std::span<const int64_t> extents() { return {}; }
  static constexpr int64_t size() { return 1; }
};

/// The traits of a kind of operand: element type, shape, and the form in which an expression holds it.
template <class A>
struct Source;
template <class T, class S>
struct Source<Tensor<T, S>> {
  using element = T;
  using shape = S;
  static TensorView<const T, S> hold(const Tensor<T, S>& t) { return t.view(); }
  static Held<T, S> hold(Tensor<T, S>&& t) { return std::move(t); }
  static Held<T, S> hold(const Tensor<T, S>&& t) { return t; }
};
template <class T, class S>
struct Source<TensorView<T, S>> {
  using element = std::remove_const_t<T>;
  using shape = S;
  static TensorView<const element, S> hold(const TensorView<T, S>& v) { return v; }
};
template <class Op, class... X>
struct Source<Expression<Op, X...>> {
  using element = typename Expression<Op, X...>::value_type;
  using shape = typename Expression<Op, X...>::shape_type;
  static Expression<Op, X...> hold(const Expression<Op, X...>& e) { return e; }
  static Expression<Op, X...>&& hold(Expression<Op, X...>&& e) { return std::move(e); }
};
/// The result of an operator that does not fit. Ensures that the first message is the only one.
template <>
struct Source<op::Invalid> {
  using element = void;
  using shape = AnyShape;
};

template <class A>
concept Scalar =
    std::is_arithmetic_v<std::remove_cvref_t<A>> || std::is_same_v<std::remove_cvref_t<A>, float16> ||
    std::is_same_v<std::remove_cvref_t<A>, bfloat16>;

}  // namespace array_detail

/// A tensor, a view, a slice, or an expression of these.
template <class A>
concept Array = requires { typename array_detail::Source<std::remove_cvref_t<A>>::element; };

namespace array_detail {

/// Operands of which at least one is an Array; others may be numbers.
template <class... A>
concept Operands = (Array<A> || ...) && ((Array<A> || Scalar<A>) && ...);

template <class A>
using element_of = typename Source<std::remove_cvref_t<A>>::element;

}  // namespace array_detail
}  // namespace tenon::TENON_ABI
