// Maps over elements: unary, binary with broadcasting, comparisons, logic, selection. Results are dense
// row-major; a result may be the same memory as an operand of its own extents. Results do not depend on
// threads.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/types.hpp"
#include "tenon/kernels/elementwise/broadcast.hpp"
#include "tenon/kernels/elementwise/ops.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI::kernels {

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
template <class Arch>
void within_impl(const void* x, std::size_t element_size, uint64_t mask, uint64_t low, uint64_t high, bool* y,
                 int64_t n);

namespace detail {
/// At most `grain`, or the part of n > grain elements that yields an even number of equal tasks, each of
/// whole cache lines: two threads then finish together.
constexpr int64_t even_grain(int64_t n, int64_t grain) {
  if (n <= grain) return grain;
  const int64_t lines = (n + 2 * grain - 1) / (2 * grain) * 2 * 64;
  return (n + lines - 1) / lines * 64;
}

template <class T>
void run(UnaryLoop<T> loop, UnaryParams p, const T* x, T* y, int64_t n) {
  assert(loop.run != nullptr && "elements of this type do not have the function");
  parallel_for(n, even_grain(n, loop.grain),
               [=](int64_t begin, int64_t end) { loop.run(p, x + begin, y + begin, end - begin); });
}
template <class T>
bool run(BinaryLoop<T> loop, const T* a, const T* b, T* c, const BroadcastPlan<2>& plan) {
  assert(loop.run != nullptr && "elements of this type do not have the function");
  if (plan.size <= loop.grain) return plan.size <= 0 || loop.run(a, b, c, plan, 0, plan.size);
  std::atomic<bool> defined{true};
  parallel_for(plan.size, even_grain(plan.size, loop.grain), [&, loop, a, b, c](int64_t begin, int64_t end) {
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

/// The loop of an op known at compile time: a header-only build then instantiates that op alone.
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

/// unary with an op known at compile time.
template <UnaryOp op, class T>
void unary(const T* x, T* y, int64_t n, UnaryParams p = {}) {
  detail::run(unary_loop_of<op, T>(), p, x, y, n);
}

/// y[i] = min(max(x[i], low), high) with bounds of the element's own type; NaN stays. T: every number type.
template <class T>
void clip(const T* x, T* y, int64_t n, T low, T high) {
  parallel_for(n, task_work::cheap, [=](int64_t begin, int64_t end) {
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

/// The same with an op known at compile time.
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
  parallel_for(plan.size, task_work::cheap, [&, op, a, b, c](int64_t begin, int64_t end) {
    simd::dispatch([&]<class Arch>(Arch) { compare_impl<Arch>(op, a, b, c, plan, begin, end); });
  });
}

/// The same with an op known at compile time.
template <CompareOp op, class T>
void compare(const T* a, const T* b, bool* c, const BroadcastPlan<2>& plan) {
#ifdef TENON_COMPILED
  compare(op, a, b, c, plan);
#else
  parallel_for(plan.size, task_work::cheap, [&, a, b, c](int64_t begin, int64_t end) {
    simd::dispatch([&]<class Arch>(Arch) { compare_of<Arch, op>(a, b, c, plan, begin, end); });
  });
#endif
}

/// c = op(a, b) on bools.
inline void logic(LogicOp op, const bool* a, const bool* b, bool* c, const BroadcastPlan<2>& plan) {
  parallel_for(plan.size, task_work::cheap, [&, op, a, b, c](int64_t begin, int64_t end) {
    simd::dispatch([&]<class Arch>(Arch) { logic_impl<Arch>(op, a, b, c, plan, begin, end); });
  });
}

/// c = condition ? a : b; the plan's operands are in that order. element_size: 1, 2, 4, 8 or 16 bytes.
inline void where(const bool* condition, const void* a, const void* b, void* c, std::size_t element_size,
                  const BroadcastPlan<3>& plan) {
  parallel_for(plan.size, task_work::cheap, [&, condition, a, b, c](int64_t begin, int64_t end) {
    simd::dispatch(
        [&]<class Arch>(Arch) { where_impl<Arch>(condition, a, b, c, element_size, plan, begin, end); });
  });
}

/// y[i] = low <= (x[i] & mask) <= high for the bits of T, i < n; low <= high. Such ranges distinguish kinds
/// of floats.
template <class T>
void within(const T* x, bool* y, int64_t n, uint64_t mask, uint64_t low, uint64_t high) {
  parallel_for(n, task_work::cheap, [=](int64_t begin, int64_t end) {
    simd::dispatch([=]<class Arch>(Arch) {
      within_impl<Arch>(x + begin, sizeof(T), mask, low, high, y + begin, end - begin);
    });
  });
}

/// y = f(x) for any types, one element at a time. f is called from any thread.
template <class X, class Y, class F>
void unary_each(const X* x, Y* y, int64_t n, F f) {
  parallel_for(n, task_work::cheap, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = f(x[i]);
  });
}

/// c = f(a, b) for any types, one element at a time: strings, exponents of another type. f is called from any
/// thread.
template <class A, class B, class C, class F>
void binary_each(const A* a, const B* b, C* c, const BroadcastPlan<2>& plan, F f) {
  const int64_t step_a = plan.strides[0][plan.rank - 1], step_b = plan.strides[1][plan.rank - 1];
  parallel_for(plan.size, task_work::costly, [&](int64_t begin, int64_t end) {
    for_each_run(plan, begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        c[at + i] = f(a[offsets[0] + i * step_a], b[offsets[1] + i * step_b]);
    });
  });
}

}  // namespace tenon::TENON_ABI::kernels

#ifndef TENON_COMPILED
#include "tenon/kernels/elementwise/elementwise_impl.hpp"
#endif
