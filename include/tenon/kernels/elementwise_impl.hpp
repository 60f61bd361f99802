// Bodies of elementwise.hpp. What an operation does stands in one line of a functor: UnaryFunction and
// BinaryFunction take batches of float or double, IntegerUnary and IntegerBinary take integers and leave
// vectors to the compiler.
#pragma once

#include <cstring>
#include <limits>
#include <utility>

#include "tenon/kernels/elementwise.hpp"
#include "tenon/simd/math.hpp"
#include "tenon/simd/wide.hpp"

namespace tenon::kernels {

// ------------------------------------------------------------------------------------------------ functors

/// One operation on a batch, with its parameters; fused chains compose them.
template <UnaryOp op>
struct UnaryFunction {
  UnaryParams p;

  template <class B>
  B operator()(const B& x) const {
    using T = typename B::value_type;
    using enum UnaryOp;
    [[maybe_unused]] const B a(static_cast<T>(p.alpha)), b(static_cast<T>(p.beta)), zero(T(0)), one(T(1));
    const auto clamp = [](const B& v, const B& low, const B& high) {
      return simd::at_most(simd::at_least(v, low), high);
    };
    if constexpr (op == absolute) return xsimd::abs(x);
    // -0 minus x, for xsimd takes -x as 0 - x with AVX-512, which makes +0 of +0.
    else if constexpr (op == negate) return B(T(-0.0)) - x;
    else if constexpr (op == sign)
      return xsimd::select(x > zero, one, xsimd::select(x < zero, -one, x * zero));
    else if constexpr (op == square) return x * x;
    else if constexpr (op == relu) return simd::at_least(x, zero);
    else if constexpr (op == acos) return simd::each_lane(x, [](T v) { return std::acos(v); });
    else if constexpr (op == acosh) return simd::each_lane(x, [](T v) { return std::acosh(v); });
    else if constexpr (op == asin) return simd::each_lane(x, [](T v) { return std::asin(v); });
    else if constexpr (op == asinh) return simd::each_lane(x, [](T v) { return std::asinh(v); });
    else if constexpr (op == atan) return simd::each_lane(x, [](T v) { return std::atan(v); });
    else if constexpr (op == atanh) return simd::each_lane(x, [](T v) { return std::atanh(v); });
    else if constexpr (op == ceil) return xsimd::ceil(x);
    else if constexpr (op == celu) return xsimd::select(x < zero, a * simd::expm1_negative(x / a), x);
    else if constexpr (op == clip) return clamp(x, a, b);
    else if constexpr (op == cos) return simd::cos(x);
    else if constexpr (op == cosh) return simd::cosh(x);
    else if constexpr (op == elu) return xsimd::select(x < zero, a * simd::expm1_negative(x), x);
    else if constexpr (op == erf) return simd::erf(x);
    else if constexpr (op == exp) return simd::exp(x);
    else if constexpr (op == floor) return xsimd::floor(x);
    else if constexpr (op == gelu) return simd::gelu(x);
    else if constexpr (op == gelu_tanh) return simd::gelu_tanh(x);
    else if constexpr (op == hard_sigmoid) return clamp(simd::mul_add(a, x, b), zero, one);
    else if constexpr (op == hard_swish)
      return x * clamp(simd::mul_add(B(T(1) / T(6)), x, B(T(0.5))), zero, one);
    else if constexpr (op == leaky_relu) return xsimd::select(x < zero, a * x, x);
    else if constexpr (op == linear) return simd::mul_add(a, x, b);
    else if constexpr (op == log) return simd::log(x);
    else if constexpr (op == mish) return simd::mish(x);
    else if constexpr (op == reciprocal) return one / x;
    else if constexpr (op == round) return xsimd::nearbyint(x);
    else if constexpr (op == selu) return b * xsimd::select(x > zero, x, a * simd::expm1_negative(x));
    else if constexpr (op == shrink) return xsimd::select(x < -a, x + b, xsimd::select(x > a, x - b, zero));
    else if constexpr (op == sigmoid) return simd::sigmoid(x);
    else if constexpr (op == sin) return simd::sin(x);
    else if constexpr (op == sinh) return simd::sinh(x);
    else if constexpr (op == softplus) return simd::softplus(x);
    else if constexpr (op == softsign) return x / (one + xsimd::abs(x));
    else if constexpr (op == sqrt) return xsimd::sqrt(x);
    else if constexpr (op == swish) return x * simd::sigmoid(a * x);
    else if constexpr (op == tan) return simd::each_lane(x, [](T v) { return std::tan(v); });
    else if constexpr (op == tanh) return simd::tanh(x);
    else if constexpr (op == thresholded_relu) return xsimd::select(x > a, x, zero);
    else static_assert(op == absolute, "an operation of integers only");
  }
};

/// The operations of UnaryOp that integers have.
template <UnaryOp op>
struct IntegerUnary {
  template <class T>
  T operator()(T x) const {
    using U = std::make_unsigned_t<T>;
    using enum UnaryOp;
    if constexpr (op == absolute) return x < T(0) ? static_cast<T>(U(0) - static_cast<U>(x)) : x;
    else if constexpr (op == negate) return static_cast<T>(U(0) - static_cast<U>(x));
    else if constexpr (op == sign) return static_cast<T>((x > T(0)) - (x < T(0)));
    else if constexpr (op == square)
      return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(x));
    else if constexpr (op == relu) return x < T(0) ? T(0) : x;
    else if constexpr (op == bitwise_not) return static_cast<T>(~x);
    else static_assert(op == absolute, "an operation of floating point only");
  }
};

/// One operation on two batches.
template <BinaryOp op>
struct BinaryFunction {
  template <class B>
  B operator()(const B& x, const B& y) const {
    using enum BinaryOp;
    if constexpr (op == add) return x + y;
    else if constexpr (op == sub) return x - y;
    else if constexpr (op == mul) return x * y;
    else if constexpr (op == div) return x / y;
    else if constexpr (op == min) return simd::min_nan(x, y);
    else if constexpr (op == max) return simd::max_nan(x, y);
    else if constexpr (op == pow) return simd::pow(x, y);
    else if constexpr (op == fmod) return simd::fmod(x, y);
    else if constexpr (op == mod) return simd::mod(x, y);
    else if constexpr (op == prelu) return xsimd::select(x < B(0), x * y, x);
    else static_assert(op == add, "an operation of integers only");
  }
};

/// One operation on two integers; `defined` becomes false on division by zero.
template <BinaryOp op>
struct IntegerBinary {
  /// For operations that are always defined.
  template <class T>
  T operator()(T x, T y) const {
    bool defined = true;
    return (*this)(x, y, defined);
  }
  template <class T>
  T operator()(T x, T y, bool& defined) const {
    using enum BinaryOp;
    // Wrapping arithmetic is that of unsigned 64 bits, cut off: the compiler narrows it again.
    const auto wide = [](T v) { return static_cast<uint64_t>(v); };
    if constexpr (op == add) return static_cast<T>(wide(x) + wide(y));
    else if constexpr (op == sub) return static_cast<T>(wide(x) - wide(y));
    else if constexpr (op == mul) return static_cast<T>(wide(x) * wide(y));
    else if constexpr (op == min) return x < y ? x : y;
    else if constexpr (op == max) return x > y ? x : y;
    else if constexpr (op == prelu) return x < T(0) ? static_cast<T>(wide(x) * wide(y)) : x;
    else if constexpr (op == bitwise_and) return static_cast<T>(x & y);
    else if constexpr (op == bitwise_or) return static_cast<T>(x | y);
    else if constexpr (op == bitwise_xor) return static_cast<T>(x ^ y);
    else if constexpr (op == shift_left)
      return wide(y) < sizeof(T) * 8 ? static_cast<T>(wide(x) << wide(y)) : T(0);
    else if constexpr (op == shift_right)
      return wide(y) < sizeof(T) * 8 ? static_cast<T>(x >> wide(y)) : T(0);
    else if constexpr (op == pow) {
      if (x == T(0) && y < T(0)) defined = false;
      return power(x, y);
    } else {
      if (y == T(0)) {
        defined = false;
        return T(0);
      }
      // The least integer over -1 overflows and traps on x86.
      if (std::is_signed_v<T> && y == static_cast<T>(-1))
        return op == div ? static_cast<T>(uint64_t{0} - wide(x)) : T(0);
      if constexpr (op == div) return static_cast<T>(x / y);
      const T rest = static_cast<T>(x % y);
      if constexpr (op == fmod) return rest;
      return rest != T(0) && (rest < T(0)) != (y < T(0)) ? static_cast<T>(rest + y) : rest;
    }
  }
};

/// One comparison of numbers or batches.
template <CompareOp op>
struct CompareFunction {
  template <class T>
  auto operator()(const T& x, const T& y) const {
    using enum CompareOp;
    if constexpr (op == equal) return x == y;
    else if constexpr (op == less) return x < y;
    else if constexpr (op == less_equal) return x <= y;
    else if constexpr (op == greater) return x > y;
    else return x >= y;
  }
};

/// One operation on two bools.
template <LogicOp op>
struct LogicFunction {
  bool operator()(bool x, bool y) const {
    using enum LogicOp;
    if constexpr (op == logical_and) return x && y;
    else if constexpr (op == logical_or) return x || y;
    else return x != y;
  }
};

// --------------------------------------------------------------------------------------------------- loops

namespace detail {

/// Elements that are widened to float, or gathered from short broadcast rows, at a time.
inline constexpr int64_t panel = 512;

// Calls f<op>() for the op of Op's first `count` that equals it.
template <class Op, class F, int... i>
void call_with_op(Op op, F& f, std::integer_sequence<int, i...>) {
  static_cast<void>(
      ((op == static_cast<Op>(i) && (f.template operator()<static_cast<Op>(i)>(), true)) || ...));
}
template <int count, class Op, class F>
void with_op(Op op, F f) {
  call_with_op(op, f, std::make_integer_sequence<int, count>{});
}

template <class Arch, class T, class F>
void map(const T* x, T* y, int64_t n, const F& f) {
  int64_t i = 0;
  if constexpr (!std::is_integral_v<T>) {
    constexpr int64_t width = simd::lanes<simd::wide<T>, Arch>;
    for (; i + width <= n; i += width) simd::store_wide<Arch>(y + i, f(simd::load_wide<Arch>(x + i)));
    if (i < n) simd::store_wide<Arch>(y + i, f(simd::load_wide<Arch>(x + i, n - i)), n - i);
  } else {
    for (; i < n; ++i) y[i] = f(x[i]);
  }
}

// Whether T reaches an operation through panels of floats: narrow floats share the loops of float, but for
// operations that cost less than a panel.
template <class T, class Op>
constexpr bool by_panels(Op op) {
  return simd::is_narrow<T> && grain_of(op) != cheap_grain;
}

// A panel of narrow floats at a time: run(wide, count) works on them as floats, in place.
template <class Arch, class T, class F>
void map_narrow(const T* x, T* y, int64_t n, const F& run) {
  alignas(64) float wide[panel];
  for (int64_t i = 0; i < n; i += panel) {
    const int64_t count = n - i < panel ? n - i : panel;
    simd::widen<Arch>(x + i, wide, count);
    run(wide, count);
    simd::narrow<Arch>(wide, y + i, count);
  }
}

// c[i] = f(a[i], b[i]), f = F{}; an operand that does not move stays at its first element, and one moves.
template <class Arch, class F, class T, class R>
void zip(const T* a, bool a_moves, const T* b, bool b_moves, R* c, int64_t n) {
  const F f;
  int64_t i = 0;
  if constexpr (!std::is_integral_v<T> && std::is_same_v<T, R>) {
    using W = simd::wide<T>;
    constexpr int64_t width = simd::lanes<W, Arch>;
    const auto loop = [&](auto&& x, auto&& y) {
      for (; i + width <= n; i += width) simd::store_wide<Arch>(c + i, f(x(i), y(i)));
      if (i < n) simd::store_wide<Arch>(c + i, f(x(i, n - i), y(i, n - i)), n - i);
    };
    const auto moving = [](const T* p) {
      return [p](int64_t at, auto... count) { return simd::load_wide<Arch>(p + at, count...); };
    };
    const auto fixed = [](const T* p) {
      return [v = simd::broadcast<Arch>(static_cast<W>(*p))](auto...) { return v; };
    };
    if (a_moves && b_moves) loop(moving(a), moving(b));
    else if (a_moves) loop(moving(a), fixed(b));
    else loop(fixed(a), moving(b));
  } else if (a_moves && b_moves) {
    for (; i < n; ++i) c[i] = f(a[i], b[i]);
  } else if (a_moves) {
    for (const T y = *b; i < n; ++i) c[i] = f(a[i], y);
  } else {
    for (const T x = *a; i < n; ++i) c[i] = f(x, b[i]);
  }
}

// The elements of operand k for the results [at, at + count): where they lie, or gathered into `to`.
template <class Arch, int n, class T>
[[gnu::noinline]] const T* gather(const BroadcastPlan<n>& plan, int k, bool dense, const T* x, T* to,
                                  int64_t at, int64_t count) {
  if (dense) return x + at;
  const int64_t step = plan.strides[k][plan.rank - 1];
  for_each_run(plan, at, at + count, [&](int64_t i, const int64_t* offsets, int64_t run) {
    const T* from = x + offsets[k];
    for (int64_t j = 0; j < run; ++j) to[i - at + j] = from[j * step];
  });
  return to;
}

// Calls run(at, a, b, count) for panels of the results, with the operands' elements side by side.
template <class Arch, class T, class F>
void zip_panels(const T* a, const T* b, const BroadcastPlan<2>& plan, int64_t begin, int64_t end,
                const F& run) {
  const bool dense_a = plan.dense(0), dense_b = plan.dense(1);
  T x[panel], y[panel];
  for (int64_t at = begin; at < end; at += panel) {
    const int64_t count = end - at < panel ? end - at : panel;
    const T* p = gather<Arch>(plan, 0, dense_a, a, x, at, count);
    run(at, p, gather<Arch>(plan, 1, dense_b, b, y, at, count), count);
  }
}

// The same with narrow floats as floats.
template <class Arch, class T, class F>
void zip_narrow(const T* a, const T* b, const BroadcastPlan<2>& plan, int64_t begin, int64_t end,
                const F& run) {
  alignas(64) float x[panel], y[panel];
  zip_panels<Arch>(a, b, plan, begin, end, [&](int64_t at, const T* p, const T* q, int64_t count) {
    simd::widen<Arch>(p, x, count);
    simd::widen<Arch>(q, y, count);
    run(at, static_cast<const float*>(x), static_cast<const float*>(y), count);
  });
}

// Runs `zip` over a broadcast: on whole runs of an innermost row if they are long and have steps of 0 and 1,
// and not both 0; else operands are gathered into panels first. A pointer, so that the walk over the plan is
// compiled once for a type and not for every operation.
template <class Arch, class T, class R>
[[gnu::noinline]] void zip_broadcast(void (*zip)(const T*, bool, const T*, bool, R*, int64_t), const T* a,
                                     const T* b, R* c, const BroadcastPlan<2>& plan, int64_t begin,
                                     int64_t end) {
  const int64_t step_a = plan.strides[0][plan.rank - 1], step_b = plan.strides[1][plan.rank - 1];
  const bool unit = (step_a == 1 && (step_b == 0 || step_b == 1)) || (step_a == 0 && step_b == 1);
  if (unit && (plan.rank == 1 || plan.inner() >= 32)) {
    for_each_run(plan, begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
      zip(a + offsets[0], step_a, b + offsets[1], step_b, c + at, count);
    });
  } else {
    zip_panels<Arch>(a, b, plan, begin, end, [&](int64_t at, const T* p, const T* q, int64_t count) {
      zip(p, true, q, true, c + at, count);
    });
  }
}

// c[i] = F{}(a[i], b[i], defined): for operations beside which walking costs nothing.
template <class Arch, class F, class T>
void zip_each(const T* a, const T* b, T* c, int64_t n, bool& defined) {
  for (int64_t i = 0; i < n; ++i) c[i] = F{}(a[i], b[i], defined);
}

/// The unsigned type of T's width.
template <class T>
using unsigned_of = std::make_unsigned_t<T>;
template <class T>
const unsigned_of<T>* as_unsigned(const T* p) {
  return reinterpret_cast<const unsigned_of<T>*>(p);
}

}  // namespace detail

// ---------------------------------------------------------------------------------------- entry points

template <class Arch, UnaryOp op, class T>
void unary_of(UnaryParams p, const T* x, T* y, int64_t n) {
  if constexpr (detail::by_panels<T>(op))
    detail::map_narrow<Arch>(x, y, n,
                             [&](float* wide, int64_t count) { unary_of<Arch, op>(p, wide, wide, count); });
  else if constexpr (std::is_integral_v<T>) detail::map<Arch>(x, y, n, IntegerUnary<op>{});
  else detail::map<Arch>(x, y, n, UnaryFunction<op>{p});
}

template <class Arch, class T>
void unary_impl(UnaryOp op, UnaryParams p, const T* x, T* y, int64_t n) {
  constexpr bool integer = std::is_integral_v<T>;
  constexpr int count = static_cast<int>(integer ? UnaryOp::bitwise_not : UnaryOp::thresholded_relu) + 1;
  if constexpr (simd::is_narrow<T>)
    if (detail::by_panels<T>(op))
      return detail::map_narrow<Arch>(
          x, y, n, [&](float* wide, int64_t some) { unary_impl<Arch>(op, p, wide, wide, some); });
  detail::with_op<count>(op, [&]<UnaryOp known>() {
    if constexpr ((integer || known != UnaryOp::bitwise_not) && !detail::by_panels<T>(known))
      unary_of<Arch, known>(p, x, y, n);
  });
}

template <class Arch, class T>
void clip_impl(const T* x, T* y, int64_t n, T low, T high) {
  if constexpr (std::is_integral_v<T>)
    detail::map<Arch>(x, y, n, [=](T v) {
      const T raised = v < low ? low : v;
      return raised > high ? high : raised;
    });
  else unary_of<Arch, UnaryOp::clip>({static_cast<double>(low), static_cast<double>(high)}, x, y, n);
}

namespace detail {

// x^e for the exponents that models have: false for others.
template <class Arch, class T>
bool map_power(const T* x, T* y, int64_t n, T exponent) {
  using B = simd::batch<T, Arch>;
  const auto root = [](const B& v) {
    // pow has no -0 here, and infinity for -infinity.
    const B infinity(std::numeric_limits<T>::infinity());
    return xsimd::select(v == -infinity, infinity, xsimd::sqrt(v + B(T(0))));
  };
  if (exponent == 2) map<Arch>(x, y, n, [](const B& v) { return v * v; });
  else if (exponent == 3) map<Arch>(x, y, n, [](const B& v) { return v * v * v; });
  else if (exponent == T(0.5)) map<Arch>(x, y, n, root);
  else if (exponent == 1) map<Arch>(x, y, n, [](const B& v) { return v; });
  else if (exponent == -1) map<Arch>(x, y, n, [](const B& v) { return B(T(1)) / v; });
  else return false;
  return true;
}

}  // namespace detail

template <class Arch, BinaryOp op, class T>
bool binary_of(const T* a, const T* b, T* c, const BroadcastPlan<2>& plan, int64_t begin, int64_t end) {
  using enum BinaryOp;
  if constexpr (detail::by_panels<T>(op)) {
    detail::zip_narrow<Arch>(a, b, plan, begin, end,
                             [&](int64_t at, const float* x, const float* y, int64_t n) {
                               alignas(64) float z[detail::panel];
                               binary_of<Arch, op>(x, y, z, BroadcastPlan<2>::flat(n), 0, n);
                               simd::narrow<Arch>(z, c + at, n);
                             });
  } else if constexpr (!std::is_integral_v<T>) {
    if constexpr (op == pow)
      if (plan.constant(1) && plan.dense(0) && detail::map_power<Arch>(a + begin, c + begin, end - begin, *b))
        return true;
    detail::zip_broadcast<Arch>(detail::zip<Arch, BinaryFunction<op>, T, T>, a, b, c, plan, begin, end);
  } else if constexpr (op == div || op == mod || op == fmod || op == pow) {
    bool defined = true;
    detail::zip_panels<Arch>(a, b, plan, begin, end, [&](int64_t at, const T* x, const T* y, int64_t n) {
      detail::zip_each<Arch, IntegerBinary<op>>(x, y, c + at, n, defined);
    });
    return defined;
  } else if constexpr (std::is_signed_v<T> && op != min && op != max && op != prelu) {
    // What wraps, and what bits do, is the same for unsigned numbers.
    binary_of<Arch, op>(detail::as_unsigned(a), detail::as_unsigned(b),
                        reinterpret_cast<detail::unsigned_of<T>*>(c), plan, begin, end);
  } else {
    detail::zip_broadcast<Arch>(detail::zip<Arch, IntegerBinary<op>, T, T>, a, b, c, plan, begin, end);
  }
  return true;
}

template <class Arch, class T>
bool binary_impl(BinaryOp op, const T* a, const T* b, T* c, const BroadcastPlan<2>& plan, int64_t begin,
                 int64_t end) {
  bool defined = true;
  constexpr int count = static_cast<int>(std::is_integral_v<T> ? BinaryOp::shift_right : BinaryOp::prelu) + 1;
  detail::with_op<count>(
      op, [&]<BinaryOp known>() { defined = binary_of<Arch, known>(a, b, c, plan, begin, end); });
  return defined;
}

template <class Arch, CompareOp op, class T>
void compare_of(const T* a, const T* b, bool* c, const BroadcastPlan<2>& plan, int64_t begin, int64_t end) {
  using enum CompareOp;
  if constexpr (simd::is_narrow<T>)
    detail::zip_narrow<Arch>(a, b, plan, begin, end,
                             [&](int64_t at, const float* x, const float* y, int64_t n) {
                               compare_of<Arch, op>(x, y, c + at, BroadcastPlan<2>::flat(n), 0, n);
                             });
  else if constexpr (op == greater) compare_of<Arch, less>(b, a, c, plan.swapped(), begin, end);
  else if constexpr (op == greater_equal) compare_of<Arch, less_equal>(b, a, c, plan.swapped(), begin, end);
  else if constexpr (op == equal && std::is_signed_v<T> && std::is_integral_v<T>)
    compare_of<Arch, op>(detail::as_unsigned(a), detail::as_unsigned(b), c, plan, begin, end);
  else
    detail::zip_broadcast<Arch>(detail::zip<Arch, CompareFunction<op>, T, bool>, a, b, c, plan, begin, end);
}

template <class Arch, class T>
void compare_impl(CompareOp op, const T* a, const T* b, bool* c, const BroadcastPlan<2>& plan, int64_t begin,
                  int64_t end) {
  constexpr int count = static_cast<int>(CompareOp::greater_equal) + 1;
  if constexpr (simd::is_narrow<T>)
    detail::zip_narrow<Arch>(a, b, plan, begin, end,
                             [&](int64_t at, const float* x, const float* y, int64_t n) {
                               compare_impl<Arch>(op, x, y, c + at, BroadcastPlan<2>::flat(n), 0, n);
                             });
  else
    detail::with_op<count>(op,
                           [&]<CompareOp known>() { compare_of<Arch, known>(a, b, c, plan, begin, end); });
}

template <class Arch>
void logic_impl(LogicOp op, const bool* a, const bool* b, bool* c, const BroadcastPlan<2>& plan,
                int64_t begin, int64_t end) {
  constexpr int count = static_cast<int>(LogicOp::logical_xor) + 1;
  detail::with_op<count>(op, [&]<LogicOp known>() {
    detail::zip_broadcast<Arch>(detail::zip<Arch, LogicFunction<known>, bool, bool>, a, b, c, plan, begin,
                                end);
  });
}

namespace detail {

// One run of elements as blocks of bytes, moved by memcpy: they may have any type. Steps are 0 or 1.
template <class Arch, std::size_t size, bool a_moves, bool b_moves>
void where_run(const bool* choose, const char* a, const char* b, char* c, int64_t n) {
  struct Block {
    char bytes[size];
  };
  for (int64_t i = 0; i < n; ++i) {
    Block x, y;
    std::memcpy(&x, a + (a_moves ? i : 0) * static_cast<int64_t>(size), size);
    std::memcpy(&y, b + (b_moves ? i : 0) * static_cast<int64_t>(size), size);
    x = choose[i] ? x : y;
    std::memcpy(c + i * static_cast<int64_t>(size), &x, size);
  }
}

template <class Arch, std::size_t bytes>
void where_blocks(const bool* condition, const char* a, const char* b, char* c, const BroadcastPlan<3>& plan,
                  int64_t begin, int64_t end) {
  constexpr auto size = static_cast<int64_t>(bytes);
  const int inner = plan.rank - 1;
  const int64_t step = plan.strides[0][inner], step_a = plan.strides[1][inner],
                step_b = plan.strides[2][inner];
  for_each_run(plan, begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
    const bool* choose = condition + offsets[0];
    const char *from_a = a + offsets[1] * size, *from_b = b + offsets[2] * size;
    char* to = c + at * size;
    if (step == 1 && (step_a == 0 || step_a == 1) && (step_b == 0 || step_b == 1)) {
      if (step_a && step_b) where_run<Arch, bytes, true, true>(choose, from_a, from_b, to, count);
      else if (step_a) where_run<Arch, bytes, true, false>(choose, from_a, from_b, to, count);
      else if (step_b) where_run<Arch, bytes, false, true>(choose, from_a, from_b, to, count);
      else where_run<Arch, bytes, false, false>(choose, from_a, from_b, to, count);
      return;
    }
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(to + i * size, choose[i * step] ? from_a + i * step_a * size : from_b + i * step_b * size,
                  bytes);
  });
}

}  // namespace detail

template <class Arch>
void where_impl(const bool* condition, const void* a, const void* b, void* c, std::size_t element_size,
                const BroadcastPlan<3>& plan, int64_t begin, int64_t end) {
  const char *x = static_cast<const char*>(a), *y = static_cast<const char*>(b);
  char* z = static_cast<char*>(c);
  switch (element_size) {
    case 1: return detail::where_blocks<Arch, 1>(condition, x, y, z, plan, begin, end);
    case 2: return detail::where_blocks<Arch, 2>(condition, x, y, z, plan, begin, end);
    case 4: return detail::where_blocks<Arch, 4>(condition, x, y, z, plan, begin, end);
    case 8: return detail::where_blocks<Arch, 8>(condition, x, y, z, plan, begin, end);
    case 16: return detail::where_blocks<Arch, 16>(condition, x, y, z, plan, begin, end);
  }
}

#ifdef TENON_INSTANTIATE
#define TENON_ELEMENTWISE(T)                                                                                 \
  template void unary_impl<TENON_INSTANTIATE, T>(UnaryOp, UnaryParams, const T*, T*, int64_t);               \
  template void clip_impl<TENON_INSTANTIATE, T>(const T*, T*, int64_t, T, T);                                \
  template bool binary_impl<TENON_INSTANTIATE, T>(BinaryOp, const T*, const T*, T*, const BroadcastPlan<2>&, \
                                                  int64_t, int64_t);                                         \
  template void compare_impl<TENON_INSTANTIATE, T>(CompareOp, const T*, const T*, bool*,                     \
                                                   const BroadcastPlan<2>&, int64_t, int64_t);
TENON_ELEMENTWISE(float)
TENON_ELEMENTWISE(double)
TENON_ELEMENTWISE(float16)
TENON_ELEMENTWISE(bfloat16)
TENON_ELEMENTWISE(int8_t)
TENON_ELEMENTWISE(int16_t)
TENON_ELEMENTWISE(int32_t)
TENON_ELEMENTWISE(int64_t)
TENON_ELEMENTWISE(uint8_t)
TENON_ELEMENTWISE(uint16_t)
TENON_ELEMENTWISE(uint32_t)
TENON_ELEMENTWISE(uint64_t)
#undef TENON_ELEMENTWISE
template void logic_impl<TENON_INSTANTIATE>(LogicOp, const bool*, const bool*, bool*, const BroadcastPlan<2>&,
                                            int64_t, int64_t);
template void where_impl<TENON_INSTANTIATE>(const bool*, const void*, const void*, void*, std::size_t,
                                            const BroadcastPlan<3>&, int64_t, int64_t);
#endif

}  // namespace tenon::kernels
