// Elementwise arithmetic, comparisons, logic and functions of tensors: ONNX's operators under C++ names.
//
//     Tensor<float, Shape<2, 3>> y = x * w + b;       one loop; broadcasts as ONNX does
//     auto e = where(x < 0.5f, -x, sqrt(x));          an Expression, not computed yet: see expression.hpp
//     x += eval(e);                                   into x's memory
//
// The operators' rules for types and extents apply: `x + i` of floats and integers does not compile, nor do
// static extents that do not broadcast. Results have the same bits as op::Add{}(x, y), except that the NaN
// which results from two NaNs is unspecified. A number takes the element type of the tensor operand.
#pragma once

#include "tenon/array/expression.hpp"
#include "tenon/op/logical/and.hpp"
#include "tenon/op/logical/bit_shift.hpp"
#include "tenon/op/logical/bitwise_and.hpp"
#include "tenon/op/logical/bitwise_not.hpp"
#include "tenon/op/logical/bitwise_or.hpp"
#include "tenon/op/logical/bitwise_xor.hpp"
#include "tenon/op/logical/equal.hpp"
#include "tenon/op/logical/greater.hpp"
#include "tenon/op/logical/greater_or_equal.hpp"
#include "tenon/op/logical/less.hpp"
#include "tenon/op/logical/less_or_equal.hpp"
#include "tenon/op/logical/not.hpp"
#include "tenon/op/logical/or.hpp"
#include "tenon/op/logical/xor.hpp"
#include "tenon/op/math/abs.hpp"
#include "tenon/op/math/acos.hpp"
#include "tenon/op/math/add.hpp"
#include "tenon/op/math/asin.hpp"
#include "tenon/op/math/atan.hpp"
#include "tenon/op/math/ceil.hpp"
#include "tenon/op/math/cos.hpp"
#include "tenon/op/math/cosh.hpp"
#include "tenon/op/math/div.hpp"
#include "tenon/op/math/erf.hpp"
#include "tenon/op/math/exp.hpp"
#include "tenon/op/math/floor.hpp"
#include "tenon/op/math/log.hpp"
#include "tenon/op/math/max.hpp"
#include "tenon/op/math/min.hpp"
#include "tenon/op/math/mod.hpp"
#include "tenon/op/math/mul.hpp"
#include "tenon/op/math/neg.hpp"
#include "tenon/op/math/pow.hpp"
#include "tenon/op/math/reciprocal.hpp"
#include "tenon/op/math/relu.hpp"
#include "tenon/op/math/round.hpp"
#include "tenon/op/math/sigmoid.hpp"
#include "tenon/op/math/sign.hpp"
#include "tenon/op/math/sin.hpp"
#include "tenon/op/math/sinh.hpp"
#include "tenon/op/math/softplus.hpp"
#include "tenon/op/math/sqrt.hpp"
#include "tenon/op/math/sub.hpp"
#include "tenon/op/math/tan.hpp"
#include "tenon/op/math/tanh.hpp"
#include "tenon/op/tensor/where.hpp"

namespace tenon::TENON_ABI {

namespace array_detail {

template <>
inline constexpr auto function_of<op::Neg> = kernels::UnaryOp::negate;
template <>
inline constexpr auto function_of<op::Abs> = kernels::UnaryOp::absolute;
template <>
inline constexpr auto function_of<op::Sign> = kernels::UnaryOp::sign;
template <>
inline constexpr auto function_of<op::Relu> = kernels::UnaryOp::relu;
template <>
inline constexpr auto function_of<op::Erf> = kernels::UnaryOp::erf;
template <>
inline constexpr auto function_of<op::Min> = kernels::BinaryOp::min;
template <>
inline constexpr auto function_of<op::Max> = kernels::BinaryOp::max;

/// The operator Object, including its attributes, as a stateless type: the form in which chains take
/// operators.
template <auto Object>
struct Fixed {
  using Op = std::remove_cv_t<decltype(Object)>;
  static constexpr op::Spec spec = Op::spec;
  constexpr void infer(op::Infer& i) const { Object.infer(i); }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<T> c) const {
    Object.compute(a, b, c);
  }
  auto operator()(const auto&... in) const { return op::call(*this, in...); }
};
using Remainder = Fixed<op::Mod{.fmod = 1}>;
using ShiftLeft = Fixed<op::BitShift{.direction = {"LEFT"}}>;
using ShiftRight = Fixed<op::BitShift{.direction = {"RIGHT"}}>;

/// Logic for tensors of bools, else Bits.
template <class A, class Logic, class Bits>
using LogicOrBits = std::conditional_t<std::is_same_v<element_of<A>, bool>, Logic, Bits>;
template <class Logic, class Bits, class A, class B>
auto logic_or_bits(A&& a, B&& b) {
  using First = std::conditional_t<Array<A>, A, B>;
  return chain<LogicOrBits<First, Logic, Bits>>(std::forward<A>(a), std::forward<B>(b));
}

/// Writes e, which has v's extents, to v's memory.
template <class E, class T, class S>
void write_over(const E& e, const TensorView<T, S>& v, std::string_view name) {
  static_assert(std::is_same_v<typename E::value_type, T>,
                "the result has another element type than the tensor");
  static_assert(widens<typename E::shape_type, S>() || widens<S, typename E::shape_type>() ||
                    !Layout<S>::is_static() || !Layout<typename E::shape_type>::is_static(),
                "the result has other extents than the tensor");
  if (!std::ranges::equal(e.extents(), v.extents()))
    raise(ErrorCode::invalid_shape, name, "a tensor of extents ", to_string(v.extents()),
          " cannot become one of ", to_string(e.extents()));
  e.write(v.data());
}

/// Targets for writing in place: lvalue tensors, and views of non-const elements.
template <class T, class S>
TensorView<T, S> target(Tensor<T, S>& t) {
  return t.view();
}
template <class T, class S>
  requires(!std::is_const_v<T>)
TensorView<T, S> target(const TensorView<T, S>& v) {
  return v;
}
template <class X>
concept InPlace = requires(X&& x) { target(std::forward<X>(x)); };
/// A part of a tensor that writes its elements itself.
template <class X>
concept Updates = requires(std::remove_cvref_t<X> x) { x.template update<op::Add>(x); };
template <class X>
concept Writable = InPlace<X> || Updates<X>;

/// x = Op(x, y) in x's memory. Returns x, a view or part as such.
template <class Op, Writable X, class Y>
X update(X&& x, Y&& y) {
  if constexpr (Updates<X>) {
    std::remove_cvref_t<X>(x).template update<Op>(y);
  } else {
    const auto v = target(x);
    auto e = chain<Op>(v, std::forward<Y>(y));
    if constexpr (!any_invalid<decltype(e)>) write_over(e, v, Op::spec.name);
  }
  return std::forward<X>(x);
}

}  // namespace array_detail

// --------------------------------------------------------------------------------------------------
// operators

/// -x: op::Neg.
template <Array A>
auto operator-(A&& x) {
  return array_detail::chain<op::Neg>(std::forward<A>(x));
}
/// ~x: op::Not for bools, op::BitwiseNot for integers. `!x` tests whether a view is absent.
template <Array A>
auto operator~(A&& x) {
  return array_detail::chain<array_detail::LogicOrBits<A, op::Not, op::BitwiseNot>>(std::forward<A>(x));
}
/// x + y: op::Add. Integers wrap.
template <class A, class B>
  requires array_detail::Operands<A, B>
auto operator+(A&& x, B&& y) {
  return array_detail::chain<op::Add>(std::forward<A>(x), std::forward<B>(y));
}
/// x - y: op::Sub. Integers wrap.
template <class A, class B>
  requires array_detail::Operands<A, B>
auto operator-(A&& x, B&& y) {
  return array_detail::chain<op::Sub>(std::forward<A>(x), std::forward<B>(y));
}
/// x * y, element by element: op::Mul. Integers wrap. The product of matrices is matmul(x, y).
template <class A, class B>
  requires array_detail::Operands<A, B>
auto operator*(A&& x, B&& y) {
  return array_detail::chain<op::Mul>(std::forward<A>(x), std::forward<B>(y));
}
/// x / y: op::Div. Error{invalid_argument} if an integer is divided by zero.
template <class A, class B>
  requires array_detail::Operands<A, B>
auto operator/(A&& x, B&& y) {
  return array_detail::chain<op::Div>(std::forward<A>(x), std::forward<B>(y));
}
/// x % y with the sign of x, as in C++ and std::fmod: op::Mod{.fmod = 1}. Error{invalid_argument} if an
/// integer is divided by zero. op::Mod{}(x, y) has the sign of y, as in Python.
template <class A, class B>
  requires array_detail::Operands<A, B>
auto operator%(A&& x, B&& y) {
  return array_detail::chain<array_detail::Remainder>(std::forward<A>(x), std::forward<B>(y));
}
/// x << y and x >> y of unsigned integers, 0 where y is at least x's width in bits: op::BitShift.
template <class A, class B>
  requires array_detail::Operands<A, B>
auto operator<<(A&& x, B&& y) {
  return array_detail::chain<array_detail::ShiftLeft>(std::forward<A>(x), std::forward<B>(y));
}
template <class A, class B>
  requires array_detail::Operands<A, B>
auto operator>>(A&& x, B&& y) {
  return array_detail::chain<array_detail::ShiftRight>(std::forward<A>(x), std::forward<B>(y));
}
/// Comparisons give bools, element by element: op::Equal, op::Less, … NaN is unequal to everything.
template <class A, class B>
  requires array_detail::Operands<A, B>
auto operator==(A&& x, B&& y) {
  return array_detail::chain<op::Equal>(std::forward<A>(x), std::forward<B>(y));
}
template <class A, class B>
  requires array_detail::Operands<A, B>
auto operator!=(A&& x, B&& y) {
  return array_detail::chain<op::Not>(array_detail::chain<op::Equal>(std::forward<A>(x), std::forward<B>(y)));
}
template <class A, class B>
  requires array_detail::Operands<A, B>
auto operator<(A&& x, B&& y) {
  return array_detail::chain<op::Less>(std::forward<A>(x), std::forward<B>(y));
}
template <class A, class B>
  requires array_detail::Operands<A, B>
auto operator<=(A&& x, B&& y) {
  return array_detail::chain<op::LessOrEqual>(std::forward<A>(x), std::forward<B>(y));
}
template <class A, class B>
  requires array_detail::Operands<A, B>
auto operator>(A&& x, B&& y) {
  return array_detail::chain<op::Greater>(std::forward<A>(x), std::forward<B>(y));
}
template <class A, class B>
  requires array_detail::Operands<A, B>
auto operator>=(A&& x, B&& y) {
  return array_detail::chain<op::GreaterOrEqual>(std::forward<A>(x), std::forward<B>(y));
}
/// op::And, op::Or, op::Xor for bools; op::BitwiseAnd, … for integers.
template <class A, class B>
  requires array_detail::Operands<A, B>
auto operator&(A&& x, B&& y) {
  return array_detail::logic_or_bits<op::And, op::BitwiseAnd>(std::forward<A>(x), std::forward<B>(y));
}
template <class A, class B>
  requires array_detail::Operands<A, B>
auto operator|(A&& x, B&& y) {
  return array_detail::logic_or_bits<op::Or, op::BitwiseOr>(std::forward<A>(x), std::forward<B>(y));
}
template <class A, class B>
  requires array_detail::Operands<A, B>
auto operator^(A&& x, B&& y) {
  return array_detail::logic_or_bits<op::Xor, op::BitwiseXor>(std::forward<A>(x), std::forward<B>(y));
}

/// x += y computes x + y into x's memory; x may also be a slice or a masked one. Error{invalid_shape} if the
/// result's extents differ from x's, which are fixed. After an Error{invalid_argument} for a division by
/// zero, each element of x is either old or new, which is 0 where the divisor is.
template <array_detail::Writable X, class Y>
  requires array_detail::Operands<X, Y>
X operator+=(X&& x, Y&& y) {
  return array_detail::update<op::Add>(std::forward<X>(x), std::forward<Y>(y));
}
template <array_detail::Writable X, class Y>
  requires array_detail::Operands<X, Y>
X operator-=(X&& x, Y&& y) {
  return array_detail::update<op::Sub>(std::forward<X>(x), std::forward<Y>(y));
}
template <array_detail::Writable X, class Y>
  requires array_detail::Operands<X, Y>
X operator*=(X&& x, Y&& y) {
  return array_detail::update<op::Mul>(std::forward<X>(x), std::forward<Y>(y));
}
template <array_detail::Writable X, class Y>
  requires array_detail::Operands<X, Y>
X operator/=(X&& x, Y&& y) {
  return array_detail::update<op::Div>(std::forward<X>(x), std::forward<Y>(y));
}
template <array_detail::Writable X, class Y>
  requires array_detail::Operands<X, Y>
X operator%=(X&& x, Y&& y) {
  return array_detail::update<array_detail::Remainder>(std::forward<X>(x), std::forward<Y>(y));
}
template <array_detail::Writable X, class Y>
  requires array_detail::Operands<X, Y>
X operator<<=(X&& x, Y&& y) {
  return array_detail::update<array_detail::ShiftLeft>(std::forward<X>(x), std::forward<Y>(y));
}
template <array_detail::Writable X, class Y>
  requires array_detail::Operands<X, Y>
X operator>>=(X&& x, Y&& y) {
  return array_detail::update<array_detail::ShiftRight>(std::forward<X>(x), std::forward<Y>(y));
}
template <array_detail::Writable X, class Y>
  requires array_detail::Operands<X, Y>
X operator&=(X&& x, Y&& y) {
  using Op = array_detail::LogicOrBits<X, op::And, op::BitwiseAnd>;
  return array_detail::update<Op>(std::forward<X>(x), std::forward<Y>(y));
}
template <array_detail::Writable X, class Y>
  requires array_detail::Operands<X, Y>
X operator|=(X&& x, Y&& y) {
  using Op = array_detail::LogicOrBits<X, op::Or, op::BitwiseOr>;
  return array_detail::update<Op>(std::forward<X>(x), std::forward<Y>(y));
}
template <array_detail::Writable X, class Y>
  requires array_detail::Operands<X, Y>
X operator^=(X&& x, Y&& y) {
  using Op = array_detail::LogicOrBits<X, op::Xor, op::BitwiseXor>;
  return array_detail::update<Op>(std::forward<X>(x), std::forward<Y>(y));
}

// --------------------------------------------------------------------------------------------------
// functions

/// exp(x), log(x), …: the operators of these names (op::Exp, op::Log, …), element by element, fused into one
/// loop with adjacent operators. sqrt(x * x + 1.0f)
template <Array A>
auto abs(A&& x) {
  return array_detail::chain<op::Abs>(std::forward<A>(x));
}
template <Array A>
auto acos(A&& x) {
  return array_detail::chain<op::Acos>(std::forward<A>(x));
}
template <Array A>
auto asin(A&& x) {
  return array_detail::chain<op::Asin>(std::forward<A>(x));
}
template <Array A>
auto atan(A&& x) {
  return array_detail::chain<op::Atan>(std::forward<A>(x));
}
template <Array A>
auto ceil(A&& x) {
  return array_detail::chain<op::Ceil>(std::forward<A>(x));
}
template <Array A>
auto cos(A&& x) {
  return array_detail::chain<op::Cos>(std::forward<A>(x));
}
template <Array A>
auto cosh(A&& x) {
  return array_detail::chain<op::Cosh>(std::forward<A>(x));
}
template <Array A>
auto erf(A&& x) {
  return array_detail::chain<op::Erf>(std::forward<A>(x));
}
template <Array A>
auto exp(A&& x) {
  return array_detail::chain<op::Exp>(std::forward<A>(x));
}
template <Array A>
auto floor(A&& x) {
  return array_detail::chain<op::Floor>(std::forward<A>(x));
}
template <Array A>
auto log(A&& x) {
  return array_detail::chain<op::Log>(std::forward<A>(x));
}
template <Array A>
auto reciprocal(A&& x) {
  return array_detail::chain<op::Reciprocal>(std::forward<A>(x));
}
template <Array A>
auto relu(A&& x) {
  return array_detail::chain<op::Relu>(std::forward<A>(x));
}
/// To the nearest whole number, ties to even.
template <Array A>
auto round(A&& x) {
  return array_detail::chain<op::Round>(std::forward<A>(x));
}
template <Array A>
auto sigmoid(A&& x) {
  return array_detail::chain<op::Sigmoid>(std::forward<A>(x));
}
template <Array A>
auto sign(A&& x) {
  return array_detail::chain<op::Sign>(std::forward<A>(x));
}
template <Array A>
auto sin(A&& x) {
  return array_detail::chain<op::Sin>(std::forward<A>(x));
}
template <Array A>
auto sinh(A&& x) {
  return array_detail::chain<op::Sinh>(std::forward<A>(x));
}
template <Array A>
auto softplus(A&& x) {
  return array_detail::chain<op::Softplus>(std::forward<A>(x));
}
template <Array A>
auto sqrt(A&& x) {
  return array_detail::chain<op::Sqrt>(std::forward<A>(x));
}
template <Array A>
auto tan(A&& x) {
  return array_detail::chain<op::Tan>(std::forward<A>(x));
}
template <Array A>
auto tanh(A&& x) {
  return array_detail::chain<op::Tanh>(std::forward<A>(x));
}

/// x to the power of y in x's type: op::Pow. A number y such as 2 or 0.5 becomes a product or a root.
template <class A, class B>
  requires array_detail::Operands<A, B>
auto pow(A&& x, B&& y) {
  return array_detail::chain<op::Pow>(std::forward<A>(x), std::forward<B>(y));
}
/// The lesser of two elements, NaN if either is: op::Min. The least element of a tensor: math.hpp.
template <class A, class B>
  requires array_detail::Operands<A, B>
auto min(A&& x, B&& y) {
  return array_detail::chain<op::Min>(std::forward<A>(x), std::forward<B>(y));
}
// For const operands of one type: in a program that uses namespace std, too, std::min would be chosen.
template <class A>
  requires Array<A>
auto min(const A& x, const A& y) {
  return array_detail::chain<op::Min>(x, y);
}
/// The greater of two elements, NaN if either is: op::Max.
template <class A, class B>
  requires array_detail::Operands<A, B>
auto max(A&& x, B&& y) {
  return array_detail::chain<op::Max>(std::forward<A>(x), std::forward<B>(y));
}
template <class A>
  requires Array<A>
auto max(const A& x, const A& y) {
  return array_detail::chain<op::Max>(x, y);
}

/// x where the condition holds, else y: op::Where. where(x < 0.0f, 0.1f * x, x)
template <Array C, class A, class B>
  requires array_detail::Operands<C, A, B>
auto where(C&& condition, A&& x, B&& y) {
  if constexpr (array_detail::any_invalid<C, A, B>) return op::Invalid{};
  else {
    using T = typename array_detail::FirstArray<A, B, Tensor<std::remove_cvref_t<A>>>::type;
    return array_detail::of_held<op::Where>(array_detail::hold<op::Where, bool>(std::forward<C>(condition)),
                                            array_detail::hold<op::Where, T>(std::forward<A>(x)),
                                            array_detail::hold<op::Where, T>(std::forward<B>(y)));
  }
}

}  // namespace tenon::TENON_ABI
