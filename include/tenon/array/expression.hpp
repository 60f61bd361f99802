// Chains of elementwise operators that are computed in one pass over memory. arithmetic.hpp has the
// operators.
//
// `x * w + b` is an Expression: nothing is computed before it becomes a Tensor, by initialisation,
// assignment, eval(), or as an argument, of operators too: op::Softmax{}(x * w). `y = x * w + b` writes into
// y's memory where it can (see Tensor). An expression refers to tensors and views that live on (lvalues), as
// a TensorView does, and takes over those that would not (`matmul(x, w) + b` owns the product), so that `auto
// e = x * w + b;` lives as long as x, w and b do. Copies of an expression share what it owns.
//
// Extents are checked where an operator is applied, types by the compiler. Where an operand is broadcast,
// what is computed of it is computed for each element of the result: `eval(exp(row)) * x` saves that.
#pragma once

#include <tuple>
#include <utility>

#include "tenon/base/scratch.hpp"
#include "tenon/op/families/arithmetic.hpp"
#include "tenon/op/families/unary.hpp"

namespace tenon {

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

/// A number beside tensors.
template <class T>
struct Number {
  using value_type = T;
  using shape_type = Shape<>;
  T value;
  static constexpr std::span<const int64_t> extents() { return {}; }
  static constexpr int64_t size() { return 1; }
};

/// Tells of a kind of operand its element type, its shape, and what an expression holds of it.
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
/// What an operator that does not fit has returned. The first message shall be the only one.
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

// ----------------------------------------------------------------------------------------- functions of
// lanes

struct NoFunction {};

/// The kernels' function of batches that an operator is for float and double; NoFunction where it is more
/// than that.
template <class Op>
inline constexpr NoFunction function_of{};
template <Str Name, kernels::UnaryOp F, Str Input, Str Output, int... Since>
inline constexpr auto function_of<op::RealFunction<Name, F, Input, Output, Since...>> = F;
template <Str Name, kernels::BinaryOp F>
inline constexpr auto function_of<op::Arithmetic<Name, F>> = F;

#ifndef TENON_COMPILED
template <auto F>
struct LaneFunction {
  static constexpr int64_t grain = 0;
};
template <kernels::UnaryOp F>
struct LaneFunction<F> {
  using Row = decltype(kernels::detail::unary_row<F>());
  static constexpr int64_t grain = Row::grain;
  template <class B>
  static B call(const B& x) {
    return typename Row::real{}(x, kernels::detail::Constants<B>(kernels::UnaryParams{}));
  }
};
template <kernels::BinaryOp F>
struct LaneFunction<F> {
  using Row = decltype(kernels::detail::binary_row<F>());
  static constexpr int64_t grain = Row::grain;
  template <class B>
  static B call(const B& x, const B& y) {
    return typename Row::real{}(x, y);
  }
};
#endif

/// Of a held operand: how many tensors are in it, and whether its elements are computed in registers from
/// their loads to the result. Compiled kernels choose their level at run time, and are called for panels
/// then.
template <class X>
struct Part;
template <class T, class S>
struct Part<TensorView<const T, S>> {
  static constexpr int leaves = 1;
  static constexpr bool in_lanes = std::is_same_v<T, float> || std::is_same_v<T, double>;
  static constexpr int64_t grain = kernels::detail::cheap_grain;
};
template <class T, class S>
struct Part<Held<T, S>> : Part<TensorView<const T, S>> {};
template <class T>
struct Part<Number<T>> : Part<TensorView<const T>> {
  static constexpr int leaves = 0;
};
template <class Op, class... X>
struct Part<Expression<Op, X...>> {
  static constexpr int leaves = (0 + ... + Part<X>::leaves);
#ifdef TENON_COMPILED
  static constexpr bool in_lanes = false;
  static constexpr int64_t grain = kernels::detail::costly_grain;
#else
  using Function = LaneFunction<function_of<Op>>;
  static constexpr bool in_lanes = Function::grain != 0 && (Part<X>::in_lanes && ...);
  static constexpr int64_t grain =
      in_lanes ? std::min({Function::grain, Part<X>::grain...}) : kernels::detail::costly_grain;
#endif
};

// -----------------------------------------------------------------------------------------------------
// leaves

/// Elements of a result that are computed at a time where an operand has to be laid out for it, or where
/// operators follow each other through memory: the panels stay in the first cache.
inline constexpr int64_t panel = 1024;

/// A tensor of an expression, and how its elements come to stand side by side with the result's.
class Leaf {
 public:
  /// v broadcasts to the result's extents, whose product is `size`, not 0. Takes memory for a panel if it is
  /// to be laid out.
  template <class T, class S>
  void bind(const TensorView<const T, S>& v, std::span<const int64_t> result, int64_t size,
            Scratch& scratch) {
    data_ = reinterpret_cast<const std::byte*>(v.data());
    element_ = sizeof(T);
    dense_ = v.size() == size;
    if (!dense_) lay_out(v.size(), v.extents(), result, scratch);
  }
  bool dense() const { return dense_; }
  /// One element for all of the result's.
  bool constant() const { return period_ == 1; }
  const void* data() const { return data_; }

  /// The elements for the result's [at, at + count), count <= panel unless dense.
  const void* elements(int64_t at, int64_t count) {
    if (dense_) return data_ + bytes(at);
    if (period_ > 0) return panel_ + bytes(at % period_);
    return gather(at, count);
  }

 private:
  int64_t bytes(int64_t n) const { return n * element_; }
  // Not inlined, or each chain would have copies of these for each tensor.
  [[gnu::noinline]] const void* gather(int64_t at, int64_t count) {
    const int64_t step = plan_.strides[0][plan_.rank - 1];
    const void* in_place = nullptr;
    kernels::for_each_run(plan_, at, at + count, [&](int64_t i, const int64_t* offsets, int64_t run) {
      const std::byte* from = data_ + bytes(offsets[0]);
      if (step == 0) repeat(panel_ + bytes(i - at), from, 1, run);
      else if (run == count) in_place = from;
      else std::memcpy(panel_ + bytes(i - at), from, static_cast<std::size_t>(bytes(run)));
    });
    return in_place != nullptr ? in_place : panel_;
  }
  [[gnu::noinline]] void lay_out(int64_t count, std::span<const int64_t> own, std::span<const int64_t> result,
                                 Scratch& scratch) {
    if (count == 1) period_ = 1;
    else {
      plan_ = kernels::broadcast_plan(own, result);
      if (plan_.rank == 2 && plan_.strides[0][0] == 0 && plan_.inner() <= panel / 2) period_ = plan_.inner();
    }
    panel_ = scratch.take<std::byte>(bytes(panel + period_));
    if (period_ > 0) repeat(panel_, data_, period_, panel + period_);
  }
  /// n elements that are `period` elements over and over.
  void repeat(std::byte* to, const std::byte* from, int64_t period, int64_t n) const {
    std::memcpy(to, from, static_cast<std::size_t>(bytes(std::min(period, n))));
    for (int64_t have = period; have < n; have += have)
      std::memcpy(to + bytes(have), to, static_cast<std::size_t>(bytes(std::min(have, n - have))));
  }

  const std::byte* data_ = nullptr;
  int64_t element_ = 0;  // bytes of one
  bool dense_ = true;
  int64_t period_ = 0;  // elements repeat after so many
  std::byte* panel_ = nullptr;
  kernels::BroadcastPlan<2> plan_;
};

/// Calls f for a view of each tensor of an expression, from left to right.
template <class T, class S, class F>
void each_tensor(const TensorView<const T, S>& v, F&& f) {
  f(v);
}
template <class T, class S, class F>
void each_tensor(const Held<T, S>& h, F&& f) {
  f(h.view());
}
template <class T, class F>
void each_tensor(const Number<T>&, F&&) {}
template <class Op, class... X, class F>
void each_tensor(const Expression<Op, X...>& e, F&& f) {
  std::apply([&](const X&... x) { (each_tensor(x, f), ...); }, e.parts());
}

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

/// Whether static extents From and To can be the same ones.
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

/// t = e, an expression or a slice: see Tensor::operator=. write(to) writes e's elements, and disturbs(to)
/// says whether it would change elements that are read later.
template <class E, class T, class S>
void replace(Tensor<T, S>& t, const E& e, auto disturbs, auto write) {
  using From = typename E::shape_type;
  constexpr bool same = std::is_same_v<typename E::value_type, T>;
  static_assert(same, "a tensor is given elements of another type");
  static_assert(may_be<From, S>(), "a tensor is given other extents than its type states");
  if constexpr (same && may_be<From, S>()) {
    const Storage& s = t.storage();
    if (s.unique() && s.writable() && std::ranges::equal(t.extents(), e.extents()) && !disturbs(t.data()))
      write(t.data());
    else t = eval(e).template as<S>();
  }
}

// ------------------------------------------------------------------------------------------ loops in
// registers

#ifndef TENON_COMPILED

/// An operand as batches of the level Arch: at(i) are the lanes from element i on, at(i, n) the first n.
template <class Arch, class X>
struct Lanes;

template <class Arch, class T, class S>
struct Lanes<Arch, TensorView<const T, S>> {
  const T* p;
  Lanes(const TensorView<const T, S>&, const void* const*& next) : p(static_cast<const T*>(*next++)) {}
  simd::batch<T, Arch> at(int64_t i) const { return simd::loadu<Arch>(p + i); }
  simd::batch<T, Arch> at(int64_t i, int64_t n) const { return simd::load_n<Arch>(p + i, n); }
};
template <class Arch, class T, class S>
struct Lanes<Arch, Held<T, S>> : Lanes<Arch, TensorView<const T, S>> {
  Lanes(const Held<T, S>& h, const void* const*& next)
      : Lanes<Arch, TensorView<const T, S>>(h.view(), next) {}
};
template <class Arch, class T>
struct Lanes<Arch, Number<T>> {
  simd::batch<T, Arch> v;
  Lanes(const Number<T>& x, const void* const*&) : v(simd::broadcast<Arch>(x.value)) {}
  simd::batch<T, Arch> at(auto...) const { return v; }
};
template <class Arch, class Op, class X>
struct Lanes<Arch, Expression<Op, X>> {
  Lanes<Arch, X> x;
  Lanes(const Expression<Op, X>& e, const void* const*& next) : x(std::get<0>(e.parts()), next) {}
  auto at(auto... i) const { return simd::in_register(LaneFunction<function_of<Op>>::call(x.at(i...))); }
};
template <class Arch, class Op, class X, class Y>
struct Lanes<Arch, Expression<Op, X, Y>> {
  Lanes<Arch, X> x;
  Lanes<Arch, Y> y;
  Lanes(const Expression<Op, X, Y>& e, const void* const*& next)
      : x(std::get<0>(e.parts()), next), y(std::get<1>(e.parts()), next) {}
  // in_register: GCC would make one operation of a product and a sum, which rounds otherwise than the two.
  auto at(auto... i) const {
    return simd::in_register(LaneFunction<function_of<Op>>::call(x.at(i...), y.at(i...)));
  }
};

/// to[0, n) = the elements of x, whose tensors' elements are where `from` says. Flattened, for in a large
/// unit GCC would call functions of one instruction.
template <class Arch, class X, class T>
[[gnu::noinline, gnu::flatten]] void run_lanes(const X& x, const void* const* from, T* to, int64_t n) {
  const Lanes<Arch, X> lanes(x, from);
  constexpr int64_t width = simd::lanes<T, Arch>;
  int64_t i = 0;
  for (; i + width <= n; i += width) simd::storeu(to + i, lanes.at(i));
  if (i < n) simd::store_n(to + i, lanes.at(i, n - i), n - i);
}
template <class Arch, class X, class T>
void run_lanes(const X& x, Leaf* leaf, T* to, int64_t at, int64_t n) {
  const void* from[Part<X>::leaves];
  for (int k = 0; k < Part<X>::leaves; ++k) from[k] = leaf[k].elements(at, n);
  run_lanes<Arch>(x, from, to, n);
}

#endif

// --------------------------------------------------------------------------------------------- loops of
// panels

/// A result of an operator, as op::call takes it.
template <class T>
struct Target {
  TensorView<T> at;
  const TensorView<T>& view() const { return at; }
};

/// The elements of x for the result's [at, at + count): one, of rank 0, where all are the same, else `count`.
/// They are written to `to`, where that is given.
template <class T, class S>
TensorView<const T> elements(const TensorView<const T, S>&, Leaf*& leaf, Scratch&, int64_t at, int64_t count,
                             std::nullptr_t) {
  Leaf& l = *leaf++;
  if (l.constant()) return {static_cast<const T*>(l.data()), {}};
  return {static_cast<const T*>(l.elements(at, count)), {count}};
}
template <class T, class S>
TensorView<const T> elements(const Held<T, S>& h, Leaf*& leaf, Scratch& scratch, int64_t at, int64_t count,
                             std::nullptr_t) {
  return elements(h.view(), leaf, scratch, at, count, nullptr);
}
template <class T>
TensorView<const T> elements(const Number<T>& x, Leaf*&, Scratch&, int64_t, int64_t, std::nullptr_t) {
  return {&x.value, {}};
}
template <class Op, class... X>
auto elements(const Expression<Op, X...>& e, Leaf*& leaf, Scratch& scratch, int64_t at, int64_t count,
              typename Expression<Op, X...>::value_type* to) {
  using E = Expression<Op, X...>;
  using T = typename E::value_type;
  const int64_t n = e.size() == 1 ? 1 : count;
  if (to == nullptr) to = scratch.take<T>(n);
  const TensorView<T> out = e.size() == 1 ? TensorView<T>(to, {}) : TensorView<T>(to, {n});
#ifndef TENON_COMPILED
  if constexpr (Part<E>::in_lanes) {
    run_lanes<simd::Native>(e, leaf, to, at, n);
    leaf += Part<E>::leaves;
    return TensorView<const T>(out);
  } else
#endif
  {
    std::tuple<Target<T>> results{{out}};
    std::apply(
        [&](const X&... x) {
          std::tuple<TensorView<const typename X::value_type>...> in{
              elements(x, leaf, scratch, at, count, nullptr)...};
          std::apply([&](const auto&... v) { E::compute(results, v...); }, in);
        },
        e.parts());
    return TensorView<const T>(out);
  }
}

/// to = the elements of e, which are not disturbed.
template <class Arch, class E>
void run(const E& e, typename E::value_type* to) {
  if (e.size() == 0) return;
  constexpr int leaves = Part<E>::leaves;
#ifndef TENON_COMPILED
  if constexpr (Part<E>::in_lanes) {
    const void* base[leaves];
    bool beside = true;  // the elements of all tensors stand side by side with the result's
    each_tensor(e, [&, next = &base[0]](const auto& v) mutable {
      beside &= v.size() == e.size();
      *next++ = v.data();
    });
    if (beside && e.size() <= Part<E>::grain) return run_lanes<Arch>(e, base, to, e.size());
    if (beside)
      return parallel_for(e.size(), Part<E>::grain, [&](int64_t begin, int64_t end) {
        const void* from[leaves];
        for (int k = 0; k < leaves; ++k)
          from[k] = static_cast<const typename E::value_type*>(base[k]) + begin;
        run_lanes<Arch>(e, from, to + begin, end - begin);
      });
  }
#endif
  parallel_for(e.size(), Part<E>::grain, [&](int64_t begin, int64_t end) {
    Leaf leaf[leaves];
    Scratch scratch;
    each_tensor(
        e, [&, next = &leaf[0]](const auto& v) mutable { next++->bind(v, e.extents(), e.size(), scratch); });
    for (int64_t at = begin; at < end; at += panel) {
      const int64_t count = std::min(panel, end - at);
      Scratch panels;
      Leaf* next = leaf;
      elements(e, next, panels, at, count, to + at);
    }
  });
}

// -----------------------------------------------------------------------------------------------------
// extents

[[noreturn, gnu::cold]] inline void raise_extents(std::string_view name, std::span<const int64_t> a,
                                                  std::span<const int64_t> b) {
  op::raise(ErrorCode::invalid_shape, name, "extents ", to_string(a), " and ", to_string(b),
            " do not broadcast");
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

/// Whether an operand is there: a tensor that was moved from is not.
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

  /// Error{invalid_shape} where the operands' extents do not broadcast, or one is absent.
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

  /// The elements, in a tensor of their own. (x * w + b).eval()
  Tensor<value_type, shape_type> eval() const {
    auto t = Tensor<value_type, shape_type>::uninitialized(extents());
    array_detail::run<simd::Native>(*this, t.data());
    return t;
  }
  /// The only element; Error{invalid_shape} when there is not exactly one. sqrt(sum(x * x)).item()
  value_type item() const { return eval().item(); }
  template <class To>
    requires(widens<shape_type, To>())
  operator Tensor<value_type, To>() const {
    return eval();
  }
  /// Writes the elements to memory for as many, which may be an operand's.
  void write(value_type* to) const {
    if (!array_detail::disturbed(*this, to, size_)) return array_detail::run<simd::Native>(*this, to);
    const auto t = eval();
    std::copy(t.begin(), t.end(), to);
  }
  /// t = these elements, see Tensor::operator=. After an Error{invalid_argument} for a division by zero,
  /// elements of t are old or new.
  template <class T, class To>
  void write_to(Tensor<T, To>& t) const {
    array_detail::replace(
        t, *this, [this](auto* to) { return array_detail::disturbed(*this, to, size_); },
        [this](auto* to) { array_detail::run<simd::Native>(*this, to); });
  }

  const std::tuple<X...>& parts() const { return parts_; }

  /// One call of Op's kernel on operands and results that are views.
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
    // Mostly one operand has the result's extents, and so have the others that are not single elements.
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
  int64_t size_ = Layout<shape_type>::is_static() ? product(Layout<shape_type>().extents()) : 0;
};

/// The elements of an expression, a slice, a view or a tensor in a tensor of their own. eval(x * w + b)
template <Lazy E>
auto eval(const E& e) {
  return e.eval();
}
template <class T, class S>
auto eval(const TensorView<T, S>& v) {
  Tensor<std::remove_const_t<T>, S> t;
  if (v) {
    t = Tensor<std::remove_const_t<T>, S>::uninitialized(v.extents());
    std::copy(v.begin(), v.end(), t.begin());
  }
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

/// A number as element type T. Error{invalid_argument} at `place` for an integer that T does not hold.
template <class T, class N>
Number<T> number(std::string_view place, N x) {
  static_assert(std::is_same_v<T, bool> == std::is_same_v<N, bool>,
                "beside a tensor of bools stands a bool, and beside other tensors none");
  static_assert(!std::is_integral_v<T> || std::is_integral_v<N>,
                "beside a tensor of integers stands an integer, not a floating-point number");
  if constexpr (std::is_integral_v<T> && std::is_integral_v<N> && !std::is_same_v<T, N>)
    if (static_cast<N>(static_cast<T>(x)) != x || is_negative(static_cast<T>(x)) != is_negative(x))
      op::raise(ErrorCode::invalid_argument, place, "the number ", x, " is no ", name(dtype_of<T>));
  return {static_cast<T>(x)};
}

/// What an expression of Op holds of an operand: numbers as elements of type T.
template <class Op, class T, class A>
decltype(auto) hold(A&& a) {
  using Clean = std::remove_cvref_t<A>;
  if constexpr (Array<A>) return Source<Clean>::hold(std::forward<A>(a));
  else return number<T>(Op::spec.name, static_cast<Clean>(a));
}

/// Element types whose operators chain; others are computed at once.
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

/// Op of what is held: an Expression where its types chain.
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
struct FirstArray : FirstArray<Rest...> {};
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

}  // namespace tenon
