// The loops that compute expressions: in registers from loads to results if the kernels' functions of batches
// allow it, else operator by operator over panels.
#pragma once

#include <tuple>

#include "tenon/array/expression/operands.hpp"
#include "tenon/base/costs.hpp"
#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/op/families/arithmetic.hpp"
#include "tenon/op/families/unary.hpp"

namespace tenon::TENON_ABI::array_detail {

// --------------------------------------------------------------------------------------- functions of lanes

struct NoFunction {};

/// The kernels' function of batches that implements an operator for float and double; NoFunction if there is
/// none.
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

/// Of a held operand: the number of its tensors, and whether its elements are computed in registers from
/// loads to the result. Compiled kernels choose their level at run time, and are then called for panels.
template <class X>
struct Part;
template <class T, class S>
struct Part<TensorView<const T, S>> {
  static constexpr int leaves = 1;
  static constexpr bool in_lanes = std::is_same_v<T, float> || std::is_same_v<T, double>;
  static constexpr int64_t grain = task_work::cheap;
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
  static constexpr int64_t grain = task_work::costly;
#else
  using Function = LaneFunction<function_of<Op>>;
  static constexpr bool in_lanes = Function::grain != 0 && (Part<X>::in_lanes && ...);
  static constexpr int64_t grain =
      in_lanes ? std::min({Function::grain, Part<X>::grain...}) : task_work::costly;
#endif
};

// --------------------------------------------------------------------------------------------------- leaves

/// The number of elements of a result computed at a time if an operand must be laid out for it, or operators
/// pass results through memory: the panels stay in the first-level cache.
inline constexpr int64_t panel = 1024;

/// A tensor of an expression, and the way to align its elements with the result's.
class Leaf {
 public:
  /// v broadcasts to the result's extents, whose product is `size`, not 0. Allocates memory for a panel if it
  /// must be laid out.
  template <class T, class S>
  void bind(const TensorView<const T, S>& v, std::span<const int64_t> result, int64_t size,
            Scratch& scratch) {
    data_ = reinterpret_cast<const std::byte*>(v.data());
    element_ = sizeof(T);
    dense_ = v.size() == size;
    if (!dense_) lay_out(v.size(), v.extents(), result, scratch);
  }
  bool dense() const { return dense_; }
  /// Whether one element serves for all of the result's.
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
  // Not inlined, because each chain would contain copies for each tensor.
  TENON_NOINLINE const void* gather(int64_t at, int64_t count) {
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
  TENON_NOINLINE void lay_out(int64_t count, std::span<const int64_t> own, std::span<const int64_t> result,
                              Scratch& scratch) {
    if (count == 1) period_ = 1;
    else {
      plan_ = kernels::broadcast_plan(own, result);
      if (plan_.rank == 2 && plan_.strides[0][0] == 0 && plan_.inner() <= panel / 2) period_ = plan_.inner();
    }
    panel_ = scratch.take<std::byte>(bytes(panel + period_));
    if (period_ > 0) repeat(panel_, data_, period_, panel + period_);
  }
  /// Writes n elements that repeat `period` elements.
  void repeat(std::byte* to, const std::byte* from, int64_t period, int64_t n) const {
    std::memcpy(to, from, static_cast<std::size_t>(bytes(std::min(period, n))));
    for (int64_t have = period; have < n; have += have)
      std::memcpy(to + bytes(have), to, static_cast<std::size_t>(bytes(std::min(have, n - have))));
  }

  const std::byte* data_ = nullptr;
  int64_t element_ = 0;  // bytes of one
  bool dense_ = true;
  int64_t period_ = 0;  // the number of elements after which they repeat
  std::byte* panel_ = nullptr;
  kernels::BroadcastPlan<2> plan_;
};

/// Calls f with a view of each tensor of an expression, from left to right.
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

// --------------------------------------------------------------------------------------- loops in registers

#ifndef TENON_COMPILED

/// An operand as batches of the level Arch: at(i) returns the lanes from element i on, at(i, n) only the
/// first n.
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
  // in_register: GCC would contract a product and a sum to one operation, which rounds differently.
  auto at(auto... i) const {
    return simd::in_register(LaneFunction<function_of<Op>>::call(x.at(i...), y.at(i...)));
  }
};

/// to[0, n) = the elements of x, whose tensors' elements are where `from` says. Flattened, because in a large
/// unit GCC would call functions of one instruction.
template <class Arch, class X, class T>
TENON_NOINLINE [[gnu::flatten]] void run_lanes(const X& x, const void* const* from, T* to, int64_t n) {
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

// ------------------------------------------------------------------------------------------ loops of panels

/// A result of an operator, as op::call takes it.
template <class T>
struct Target {
  TensorView<T> at;
  const TensorView<T>& view() const { return at; }
};

/// The elements of x for the result's [at, at + count): one, of rank 0, if all are equal, else `count`. They
/// are written to `to`, if given.
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

/// Writes the elements of e to `to`, which does not disturb them.
template <class Arch, class E>
void run(const E& e, typename E::value_type* to) {
  if (e.size() == 0) return;
  constexpr int leaves = Part<E>::leaves;
#ifndef TENON_COMPILED
  if constexpr (Part<E>::in_lanes) {
    const void* base[leaves];
    bool aligned = true;  // whether the elements of all tensors are aligned with the result's
    each_tensor(e, [&, next = &base[0]](const auto& v) mutable {
      aligned &= v.size() == e.size();
      *next++ = v.data();
    });
    if (aligned && e.size() <= Part<E>::grain) return run_lanes<Arch>(e, base, to, e.size());
    if (aligned)
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

}  // namespace tenon::TENON_ABI::array_detail
