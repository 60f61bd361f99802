// Maps over elements: unary, binary with broadcasting, comparisons, logic, selection. Results are dense
// row-major; a result may be the same memory as an operand of its own extents. Results do not depend on
// threads.
#pragma once

#include <atomic>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenon/base/parallel.hpp"
#include "tenon/base/types.hpp"
#include "tenon/kernels/elementwise/broadcast.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::kernels {

/// y = f(x). `a` and `b` stand for UnaryParams::alpha and beta. Each function has a row in
/// elementwise_impl.hpp; its place among the others means nothing.
enum class UnaryOp : uint8_t {
  // floating point and integers (`negate`, `absolute`, `square` wrap)
  absolute,
  negate,
  sign,
  square,
  relu,
  bitwise_not,  // integers only
  // floating point only
  acos,
  acosh,
  asin,
  asinh,
  atan,
  atanh,
  ceil,
  celu,  // max(0,x) + min(0, a (exp(x/a) - 1))
  clip,  // min(max(x, a), b); NaN stays. Integers: see clip below
  cos,
  cosh,
  elu,  // x < 0 ? a (exp(x) - 1) : x
  erf,
  exp,
  floor,
  gelu,          // x (1 + erf(x / sqrt(2))) / 2
  gelu_tanh,     // x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2
  hard_sigmoid,  // max(0, min(1, a x + b))
  hard_swish,    // x max(0, min(1, x/6 + 1/2))
  leaky_relu,    // x < 0 ? a x : x
  linear,        // a x + b
  log,
  mish,  // x tanh(softplus(x))
  reciprocal,
  round,   // to nearest, ties to even
  selu,    // b (x > 0 ? x : a (exp(x) - 1))
  shrink,  // x < -a ? x + b : x > a ? x - b : 0
  sigmoid,
  sin,
  sinh,
  softplus,  // log(1 + exp(x))
  softsign,  // x / (1 + |x|)
  sqrt,
  swish,  // x sigmoid(a x)
  tan,
  tanh,
  thresholded_relu,  // x > a ? x : 0
  op_count           // stays the last
};

struct UnaryParams {
  double alpha = 0, beta = 0;
};

/// c = f(a, b). Integer results wrap. Each function has a row in elementwise_impl.hpp.
enum class BinaryOp : uint8_t {
  // floating point and integers
  add,
  sub,
  mul,
  div,    // integers: towards zero
  min,    // NaN if either is
  max,    // NaN if either is
  pow,    // integers: negative exponents give the truncated quotient
  mod,    // sign of b
  fmod,   // sign of a
  prelu,  // a < 0 ? a b : a
  // integers only
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  shift_left,   // unsigned; shifts of the width or more give 0
  shift_right,  // unsigned; shifts of the width or more give 0
  op_count      // stays the last
};

enum class CompareOp : uint8_t { equal, less, less_equal, greater, greater_equal };

enum class LogicOp : uint8_t { logical_and, logical_or, logical_xor };

/// One function for elements of type T: the number of elements that a task takes, and the serial loop, which
/// is null if T does not have the function.
template <class T>
struct UnaryLoop {
  int64_t grain;
  void (*run)(UnaryParams p, const T* x, T* y, int64_t n) = nullptr;
};
/// The same; `begin` and `end` bound the elements of the result, and the loop returns false if a result is
/// not defined.
template <class T>
struct BinaryLoop {
  int64_t grain;
  bool (*run)(const T* a, const T* b, T* c, const BroadcastPlan<2>& plan, int64_t begin,
              int64_t end) = nullptr;
};

/// In elementwise_impl.hpp.
template <auto op, class T>
constexpr bool has_function();
template <class Arch, class T>
UnaryLoop<T> unary_loop(UnaryOp op);
template <class Arch, UnaryOp op, class T>
constexpr UnaryLoop<T> unary_loop();
template <class Arch, class T>
BinaryLoop<T> binary_loop(BinaryOp op);
template <class Arch, BinaryOp op, class T>
constexpr BinaryLoop<T> binary_loop();
template <class Arch, class T>
void clip_impl(const T* x, T* y, int64_t n, T low, T high);
/// Serial bodies; `begin` and `end` bound the elements of the result.
template <class Arch, class T>
void compare_impl(CompareOp op, const T* a, const T* b, bool* c, const BroadcastPlan<2>& plan, int64_t begin,
                  int64_t end);
template <class Arch, CompareOp op, class T>
void compare_of(const T* a, const T* b, bool* c, const BroadcastPlan<2>& plan, int64_t begin, int64_t end);
template <class Arch>
void logic_impl(LogicOp op, const bool* a, const bool* b, bool* c, const BroadcastPlan<2>& plan,
                int64_t begin, int64_t end);
template <class Arch>
void where_impl(const bool* condition, const void* a, const void* b, void* c, std::size_t element_size,
                const BroadcastPlan<3>& plan, int64_t begin, int64_t end);

namespace detail {
/// Elements that a task takes: with fewer, starting threads costs more than it saves.
inline constexpr int64_t cheap_grain = 1 << 15, costly_grain = 1 << 13;

template <class T>
void run(UnaryLoop<T> loop, UnaryParams p, const T* x, T* y, int64_t n) {
  assert(loop.run != nullptr && "elements of this type do not have the function");
  parallel_for(n, loop.grain,
               [=](int64_t begin, int64_t end) { loop.run(p, x + begin, y + begin, end - begin); });
}
template <class T>
bool run(BinaryLoop<T> loop, const T* a, const T* b, T* c, const BroadcastPlan<2>& plan) {
  assert(loop.run != nullptr && "elements of this type do not have the function");
  if (plan.size <= loop.grain) return plan.size <= 0 || loop.run(a, b, c, plan, 0, plan.size);
  std::atomic<bool> defined{true};
  parallel_for(plan.size, loop.grain, [&, loop, a, b, c](int64_t begin, int64_t end) {
    if (!loop.run(a, b, c, plan, begin, end)) defined.store(false, std::memory_order_relaxed);
  });
  return defined.load(std::memory_order_relaxed);
}
}  // namespace detail

/// y[i] = op(x[i]), i < n. T: float, double, float16, bfloat16; integers for the first six ops. y may be x.
template <class T>
void unary(UnaryOp op, const T* x, T* y, int64_t n, UnaryParams p = {}) {
  detail::run(simd::dispatch([=]<class Arch>(Arch) { return unary_loop<Arch, T>(op); }), p, x, y, n);
}

/// The loop of an op known to the compiler: a header-only build then instantiates that op alone.
template <UnaryOp op, class T>
UnaryLoop<T> unary_loop_of() {
#ifdef TENON_COMPILED
  return simd::dispatch([]<class Arch>(Arch) { return unary_loop<Arch, T>(op); });
#else
  static_assert(has_function<op, T>(), "elements of this type do not have the function");
  return unary_loop<simd::Native, op, T>();
#endif
}

/// A function of one number that other kernels apply to their results in place; none by default.
template <class T>
struct Activation {
  void (*run)(UnaryParams p, const T* x, T* y, int64_t n) = nullptr;
  UnaryParams parameters{};

  explicit operator bool() const { return run != nullptr; }
  void operator()(T* y, int64_t n) const {
    if (run != nullptr) run(parameters, y, y, n);
  }
};
template <UnaryOp op, class T>
Activation<T> activation(UnaryParams p = {}) {
  return {unary_loop_of<op, T>().run, p};
}

/// unary with the op known to the compiler.
template <UnaryOp op, class T>
void unary(const T* x, T* y, int64_t n, UnaryParams p = {}) {
  detail::run(unary_loop_of<op, T>(), p, x, y, n);
}

/// y[i] = min(max(x[i], low), high) with bounds of the element's own type; NaN stays. T: every number type.
template <class T>
void clip(const T* x, T* y, int64_t n, T low, T high) {
  parallel_for(n, detail::cheap_grain, [=](int64_t begin, int64_t end) {
    simd::dispatch([=]<class Arch>(Arch) { clip_impl<Arch>(x + begin, y + begin, end - begin, low, high); });
  });
}

/// c = op(a, b), broadcast by `plan` (see broadcast_plan). T: every number type. c may be an operand that is
/// not broadcast. False if an integer was divided by zero (div, mod, fmod; or zero to a negative power); such
/// results are 0.
template <class T>
bool binary(BinaryOp op, const T* a, const T* b, T* c, const BroadcastPlan<2>& plan) {
  return detail::run(simd::dispatch([=]<class Arch>(Arch) { return binary_loop<Arch, T>(op); }), a, b, c,
                     plan);
}

/// The same with the op known to the compiler.
template <BinaryOp op, class T>
bool binary(const T* a, const T* b, T* c, const BroadcastPlan<2>& plan) {
#ifdef TENON_COMPILED
  return binary(op, a, b, c, plan);
#else
  static_assert(has_function<op, T>(), "elements of this type do not have the function");
  return detail::run(binary_loop<simd::Native, op, T>(), a, b, c, plan);
#endif
}

/// c = op(a, b) as bools. T: every number type (bools as uint8_t).
template <class T>
void compare(CompareOp op, const T* a, const T* b, bool* c, const BroadcastPlan<2>& plan) {
  parallel_for(plan.size, detail::cheap_grain, [&, op, a, b, c](int64_t begin, int64_t end) {
    simd::dispatch([&]<class Arch>(Arch) { compare_impl<Arch>(op, a, b, c, plan, begin, end); });
  });
}

/// The same with the op known to the compiler.
template <CompareOp op, class T>
void compare(const T* a, const T* b, bool* c, const BroadcastPlan<2>& plan) {
#ifdef TENON_COMPILED
  compare(op, a, b, c, plan);
#else
  parallel_for(plan.size, detail::cheap_grain, [&, a, b, c](int64_t begin, int64_t end) {
    simd::dispatch([&]<class Arch>(Arch) { compare_of<Arch, op>(a, b, c, plan, begin, end); });
  });
#endif
}

/// c = op(a, b) on bools.
inline void logic(LogicOp op, const bool* a, const bool* b, bool* c, const BroadcastPlan<2>& plan) {
  parallel_for(plan.size, detail::cheap_grain, [&, op, a, b, c](int64_t begin, int64_t end) {
    simd::dispatch([&]<class Arch>(Arch) { logic_impl<Arch>(op, a, b, c, plan, begin, end); });
  });
}

/// c = condition ? a : b; the plan's operands stand in that order. element_size: 1, 2, 4, 8 or 16 bytes.
inline void where(const bool* condition, const void* a, const void* b, void* c, std::size_t element_size,
                  const BroadcastPlan<3>& plan) {
  parallel_for(plan.size, detail::cheap_grain, [&, condition, a, b, c](int64_t begin, int64_t end) {
    simd::dispatch(
        [&]<class Arch>(Arch) { where_impl<Arch>(condition, a, b, c, element_size, plan, begin, end); });
  });
}

/// y = f(x) for any types, one element at a time. f is called from any thread.
template <class X, class Y, class F>
void unary_each(const X* x, Y* y, int64_t n, F f) {
  parallel_for(n, detail::cheap_grain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = f(x[i]);
  });
}

/// c = f(a, b) for any types, one element at a time: strings, exponents of another type. f is called from any
/// thread.
template <class A, class B, class C, class F>
void binary_each(const A* a, const B* b, C* c, const BroadcastPlan<2>& plan, F f) {
  const int64_t step_a = plan.strides[0][plan.rank - 1], step_b = plan.strides[1][plan.rank - 1];
  parallel_for(plan.size, detail::costly_grain, [&](int64_t begin, int64_t end) {
    for_each_run(plan, begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        c[at + i] = f(a[offsets[0] + i * step_a], b[offsets[1] + i * step_b]);
    });
  });
}

/// base to the power of exponent for any two number types: integers wrap, a result that T cannot hold
/// saturates (NaN gives 0), and negative exponents of integers give the truncated quotient, 0 for base 0.
template <class T, class E>
T power(T base, E exponent) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<E>) {
    if (exponent < E{0}) {
      if (base == T{1}) return 1;
      if (std::is_signed_v<T> && base == static_cast<T>(-1))
        return (exponent & 1) ? static_cast<T>(-1) : T{1};
      return 0;
    }
    uint64_t result = 1, square = static_cast<uint64_t>(base);
    for (uint64_t e = static_cast<uint64_t>(exponent); e; e >>= 1, square *= square)
      if (e & 1) result *= square;
    return static_cast<T>(result);
  } else if constexpr (std::is_integral_v<T>) {
    const double value = std::pow(static_cast<double>(base), static_cast<double>(exponent));
    // 2^digits is exact in a double where the greatest value of T need not be.
    const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (value != value) return 0;
    if (value >= limit) return std::numeric_limits<T>::max();
    if (value < -limit || (std::is_unsigned_v<T> && value < 0)) return std::numeric_limits<T>::min();
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::pow(base, static_cast<double>(exponent));
  } else {
    return static_cast<T>(
        static_cast<float>(std::pow(static_cast<double>(base), static_cast<double>(exponent))));
  }
}

}  // namespace tenon::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/elementwise/elementwise_impl.hpp"
#endif
