// Chains of elementwise operators that are computed in one pass over memory. arithmetic.hpp has the
// operators.
//
// `x * w + b` is an Expression: nothing is computed before it becomes a Tensor, by initialisation,
// assignment, eval(), or as an argument, including an operator's: op::Softmax{}(x * w). `y = x * w + b`
// writes to y's memory if possible (see Tensor). An expression refers to lvalue tensors and views, as a
// TensorView does, and owns temporaries (`matmul(x, w) + b` owns the product). So `auto e = x * w + b;` is
// valid as long as x, w and b are. Copies of an expression share what it owns.
//
// Extents are checked when an operator is applied, types by the compiler. An operator on a broadcast operand
// is computed for each element of the result: `eval(exp(row)) * x` avoids that.
#pragma once

#include <tuple>
#include <utility>

#include "tenon/array/expression/loops.hpp"

namespace tenon::TENON_ABI {

namespace array_detail {

/// Whether writing `size` elements of the result at `to` would change elements that are read later.
template <class T, class S, class To>
bool disturbed(const TensorView<T, S>& v, const To* to, int64_t size) {
  const auto first = reinterpret_cast<std::uintptr_t>(v.data()), out = reinterpret_cast<std::uintptr_t>(to);
  const auto bytes = [](int64_t n, std::size_t each) { return static_cast<std::uintptr_t>(n) * each; };
  return first < out + bytes(size, sizeof(To)) && out < first + bytes(v.size(), sizeof(T)) &&
         !(first == out && v.size() == size);
}
template <class Op, class... X, class To>
bool disturbed(const Expression<Op, X...>& e, const To* to, int64_t size) {
  bool any = false;
  each_tensor(e, [&](const auto& v) { any |= disturbed(v, to, size); });
  return any;
}

/// Whether static extents From and To can be equal.
template <class From, class To>
constexpr bool may_be() {
  if constexpr (From::rank < 0 || To::rank < 0) return true;
  else if constexpr (From::rank != To::rank) return false;
  else {
    for (std::size_t k = 0; k < From::extents.size(); ++k)
      if (From::extents[k] != dyn && To::extents[k] != dyn && From::extents[k] != To::extents[k])
        return false;
    return true;
  }
}

/// t = e, an expression or a slice: see Tensor::operator=. write(to) writes e's elements; disturbs(to) tells
/// whether this would change elements that are read later.
template <class E, class T, class S>
void replace(Tensor<T, S>& t, const E& e, auto disturbs, auto write) {
  using From = typename E::shape_type;
  constexpr bool same = std::is_same_v<typename E::value_type, T>;
  static_assert(same, "a tensor is given elements of another type");
  static_assert(may_be<From, S>(), "a tensor is given other extents than its type states");
  if constexpr (same && may_be<From, S>()) {
    const Storage& s = t.storage();
    if (s.unique() && std::ranges::equal(t.extents(), e.extents()) && !disturbs(t.data())) write(t.data());
    else t = eval(e).template as<S>();
  }
}

// -------------------------------------------------------------------------------------------------- extents

[[noreturn, gnu::cold]] inline void raise_extents(std::string_view name, std::span<const int64_t> a,
                                                  std::span<const int64_t> b) {
  raise(ErrorCode::invalid_shape, name, "extents ", to_string(a), " and ", to_string(b), " do not broadcast");
}
/// `e` becomes the extents to which e and x broadcast.
inline void broadcast_with(std::string_view name, Extents& e, std::span<const int64_t> x) {
  const Extents before = e;
  const int own = before.size(), others = static_cast<int>(x.size()), rank = std::max(own, others);
  e = {};
  for (int k = 0; k < rank; ++k) {
    const int64_t a = k < rank - own ? 1 : before[k - (rank - own)];
    const int64_t b = k < rank - others ? 1 : x[static_cast<std::size_t>(k - (rank - others))];
    if (a != 1 && b != 1 && a != b) raise_extents(name, before, x);
    e.push_back(a == 1 ? b : a);
  }
}

/// Whether an operand is present: a moved-from tensor is not.
template <class X>
bool present(const X& x) {
  if constexpr (requires { x.view(); }) return static_cast<bool>(x.view());
  else if constexpr (requires { static_cast<bool>(x); }) return static_cast<bool>(x);
  else return true;
}

template <class... X>
inline constexpr bool all_static = (Layout<typename X::shape_type>::is_static() && ...);

}  // namespace array_detail

/// The result of operator Op on X…, not computed yet. See the head of this file.
template <class Op, class... X>
class Expression {
  using Call = op::TypedCall<Op, op::RunTimeAttributes<Op>, 1,
                             Tensor<typename X::value_type, typename X::shape_type>...>;
  using Result = typename Call::template tensor<0>;

 public:
  using value_type = typename Result::value_type;
  using shape_type = typename Result::shape_type;

  /// Error{invalid_shape} if the operands' extents do not broadcast, or one operand is absent.
  explicit Expression(X&&... x) : parts_(std::move(x)...) {
    std::apply(
        [&](const X&... part) {
          int k = 0;
          ((array_detail::present(part) ? void(++k) : op::detail::raise_missing(Op::spec, k)), ...);
          if constexpr (!array_detail::all_static<X...>) broadcast(part...);
        },
        parts_);
  }

  static constexpr DType dtype() { return dtype_of<value_type>; }
  int rank() const { return layout_.rank(); }
  std::span<const int64_t> extents() const { return layout_.extents(); }
  int64_t extent(int axis) const { return extent_at(extents(), axis); }
  int64_t size() const { return size_; }

  /// The elements as a new tensor. (x * w + b).eval()
  Tensor<value_type, shape_type> eval() const {
    auto t = Tensor<value_type, shape_type>::uninitialized(extents());
    array_detail::run<simd::Native>(*this, t.data());
    return t;
  }
  /// The only element; Error{invalid_shape} unless there is exactly one. sqrt(sum(x * x)).item()
  value_type item() const { return eval().item(); }
  template <class To>
    requires(widens<shape_type, To>())
  operator Tensor<value_type, To>() const {
    return eval();
  }
  /// Writes the elements to memory that holds them all and may be an operand's.
  void write(value_type* to) const {
    if (!array_detail::disturbed(*this, to, size_)) return array_detail::run<simd::Native>(*this, to);
    const auto t = eval();
    std::copy(t.begin(), t.end(), to);
  }
  /// t = these elements, see Tensor::operator=. After an Error{invalid_argument} for a division by zero, each
  /// element of t is either old or new, which is 0 where the divisor is.
  template <class T, class To>
  void write_to(Tensor<T, To>& t) const {
    array_detail::replace(
        t, *this, [this](auto* to) { return array_detail::disturbed(*this, to, size_); },
        [this](auto* to) { array_detail::run<simd::Native>(*this, to); });
  }

  const std::tuple<X...>& parts() const { return parts_; }

  /// Calls Op's kernel once on operands and results that are views.
  template <class... V>
  static void compute(auto& results, const V&... v) {
    using Types = decltype([]<int... K>(std::integer_sequence<int, K...>) {
      return op::detail::Bound<cpp_type<op::bound_dtype<
          Op, K, Tensor<typename X::value_type, typename X::shape_type>...>(Call::result.out)>...>{};
    }(std::make_integer_sequence<int, op::detail::convention<Op>.typed>{}));
    op::detail::compute_typed(Op{}, op::detail::Inputs<Op>{}, op::detail::Outputs<Op>{}, Types{}, results,
                              v...);
  }

 private:
  void broadcast(const X&... x) {
    // Usually one operand has the result's extents, and so have all others that are not single elements.
    std::span<const int64_t> e;
    int64_t size = 1;
    const auto choose = [&](std::span<const int64_t> own, int64_t count) {
      if (own.size() > e.size() || (own.size() == e.size() && size == 1)) e = own, size = count;
    };
    (choose(x.extents(), x.size()), ...);
    const auto fits = [&](std::span<const int64_t> own, int64_t count) {
      return (count == 1 && own.size() <= e.size()) || std::ranges::equal(own, e);
    };
    if ((fits(x.extents(), x.size()) && ...)) {
      layout_ = Layout<shape_type>(e);
      size_ = size;
    } else {
      Extents all;
      (array_detail::broadcast_with(Op::spec.name, all, x.extents()), ...);
      layout_ = Layout<shape_type>(all);
      size_ = element_count(all);
    }
  }

  std::tuple<X...> parts_;
  Layout<shape_type> layout_{};
  int64_t size_ = Layout<shape_type>::is_static() ? extent_product(Layout<shape_type>().extents()) : 0;
};

/// The elements of an expression, slice, view or tensor as a new tensor. Error{invalid_shape} for an absent
/// view. eval(x * w + b)
template <Lazy E>
auto eval(const E& e) {
  return e.eval();
}
template <class T, class S>
auto eval(const TensorView<T, S>& v) {
  if (!v) raise(ErrorCode::invalid_shape, "eval", "an absent view has no elements");
  auto t = Tensor<std::remove_const_t<T>, S>::uninitialized(v.extents());
  std::copy(v.begin(), v.end(), t.begin());
  return t;
}
template <class T, class S>
Tensor<T, S> eval(const Tensor<T, S>& t) {
  return t.clone();
}
template <class T, class S>
Tensor<T, S> eval(Tensor<T, S>&& t) {
  return std::move(t);
}
inline op::Invalid eval(op::Invalid) { return {}; }

namespace array_detail {

template <class... A>
inline constexpr bool any_invalid = (std::is_same_v<std::remove_cvref_t<A>, op::Invalid> || ...);

constexpr bool is_negative(auto x) {
  if constexpr (std::is_signed_v<decltype(x)>) return x < 0;
  else return false;
}

/// A number as element type T. Error{invalid_argument} at `place` for an integer that does not fit T.
template <class T, class N>
Number<T> number(std::string_view place, N x) {
  static_assert(std::is_same_v<T, bool> == std::is_same_v<N, bool>,
                "a bool combines with a tensor of bools, and with no other tensor");
  static_assert(!std::is_integral_v<T> || std::is_integral_v<N>,
                "a tensor of integers combines with an integer, not with a floating-point number");
  if constexpr (std::is_integral_v<T> && std::is_integral_v<N> && !std::is_same_v<T, N>)
    if (static_cast<N>(static_cast<T>(x)) != x || is_negative(static_cast<T>(x)) != is_negative(x))
      raise(ErrorCode::invalid_argument, place, "the number ", x, " is no ", name_of(dtype_of<T>));
  return {static_cast<T>(x)};
}

/// An operand as an expression of Op holds it: numbers as elements of type T.
template <class Op, class T, class A>
decltype(auto) hold(A&& a) {
  using Clean = std::remove_cvref_t<A>;
  if constexpr (Array<A>) return Source<Clean>::hold(std::forward<A>(a));
  else return number<T>(Op::spec.name, static_cast<Clean>(a));
}

/// Element types whose operators chain; others are computed immediately.
template <class T>
inline constexpr bool chains =
    std::is_arithmetic_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

/// A held operand, as an operator takes it.
template <class X>
decltype(auto) as_operand(const X& x) {
  if constexpr (requires { x.value; }) return (x.value);
  else if constexpr (requires { x.view(); }) return x.view();
  else return op::ready(x);
}

/// Op of held operands: an Expression if their types chain.
template <class Op, class... X>
auto of_held(X&&... x) {
  using Call = op::TypedCall<Op, op::RunTimeAttributes<Op>, 1,
                             Tensor<typename X::value_type, typename X::shape_type>...>;
  if constexpr (!Call::valid) {
    op::report<op::titled<Op>(Call::result.message)>();
    return op::Invalid{};
  } else if constexpr ((chains<typename X::value_type> && ...)) {
    return Expression<Op, X...>(std::forward<X>(x)...);
  } else {
    return Op{}(as_operand(x)...);
  }
}

template <class First, class... Rest>
struct FirstArray {
  using type = typename FirstArray<Rest...>::type;
};
template <Array First, class... Rest>
struct FirstArray<First, Rest...> {
  using type = element_of<First>;
};

/// Op of operands; numbers take the element type of the first tensor.
template <class Op, class... A>
auto chain(A&&... a) {
  if constexpr (any_invalid<A...>) return op::Invalid{};
  else return of_held<Op>(hold<Op, typename FirstArray<A...>::type>(std::forward<A>(a))...);
}

}  // namespace array_detail

}  // namespace tenon::TENON_ABI
