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

// ----------------------------------------------------------------------------------------------------
// functors

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

// -------------------------------------------------------------------------------------------------------
// loops

namespace detail {

/// Elements of short broadcast rows that are gathered at a time.
inline constexpr int64_t panel = 256;

/// Whether batches of T's own type, or of float for it, exist; else loops are left to the compiler.
template <class T>
inline constexpr bool has_batch = std::is_floating_point_v<T> || simd::is_narrow<T>;

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
  if constexpr (has_batch<T>) {
    constexpr int64_t width = simd::lanes<simd::wide<T>, Arch>;
    for (; i + width <= n; i += width) simd::store_wide<Arch>(y + i, f(simd::load_wide<Arch>(x + i)));
    if (i < n) simd::store_wide<Arch>(y + i, f(simd::load_wide<Arch>(x + i, n - i)), n - i);
  } else {
    for (; i < n; ++i) y[i] = f(x[i]);
  }
}

// c[i] = f(a[i], b[i]); an operand that does not move stays at its first element.
template <class Arch, class T, class F>
void zip(const T* a, bool a_moves, const T* b, bool b_moves, T* c, int64_t n, F& f) {
  if constexpr (has_batch<T>) {
    using W = simd::wide<T>;
    constexpr int64_t width = simd::lanes<W, Arch>;
    int64_t i = 0;
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
    if (n <= 0) return;
    if (a_moves && b_moves) loop(moving(a), moving(b));
    else if (a_moves) loop(moving(a), fixed(b));
    else if (b_moves) loop(fixed(a), moving(b));
    else loop(fixed(a), fixed(b));
  } else {
    if (a_moves && b_moves) {
      for (int64_t i = 0; i < n; ++i) c[i] = f(a[i], b[i]);
    } else if (a_moves) {
      const T y = *b;
      for (int64_t i = 0; i < n; ++i) c[i] = f(a[i], y);
    } else {
      const T x = *a;
      for (int64_t i = 0, step = b_moves; i < n; ++i) c[i] = f(x, b[i * step]);
    }
  }
}

// The same with bools as results.
template <class Arch, class T, class F>
requires(!std::is_same_v<T, bool>) void zip(const T* a, bool a_moves, const T* b, bool b_moves, bool* c,
                                            int64_t n, F& f) {
  if constexpr (simd::is_narrow<T>) {
    constexpr int64_t width = simd::lanes<float, Arch>;
    alignas(64) float x[width], y[width];
    for (int64_t i = 0; i < n; i += width) {
      const int64_t count = n - i < width ? n - i : width;
      simd::storeu(
          x, a_moves ? simd::load_wide<Arch>(a + i, count) : simd::broadcast<Arch>(static_cast<float>(*a)));
      simd::storeu(
          y, b_moves ? simd::load_wide<Arch>(b + i, count) : simd::broadcast<Arch>(static_cast<float>(*b)));
      for (int64_t j = 0; j < count; ++j) c[i + j] = f(x[j], y[j]);
    }
  } else if (a_moves && b_moves) {
    for (int64_t i = 0; i < n; ++i) c[i] = f(a[i], b[i]);
  } else if (a_moves) {
    const T y = *b;
    for (int64_t i = 0; i < n; ++i) c[i] = f(a[i], y);
  } else {
    const T x = *a;
    for (int64_t i = 0, step = b_moves; i < n; ++i) c[i] = f(x, b[i * step]);
  }
}

// The operand's elements for the results [at, at + count), gathered into a panel.
template <class Arch, int k, int n, class T>
void gather(const BroadcastPlan<n>& plan, const T* x, T* to, int64_t at, int64_t count) {
  const int64_t step = plan.strides[k][plan.rank - 1];
  for_each_run(plan, at, at + count, [&](int64_t i, const int64_t* offsets, int64_t run) {
    const T* from = x + offsets[k];
    T* out = to + (i - at);
    for (int64_t j = 0; j < run; ++j) out[j] = from[j * step];
  });
}

// Runs of one innermost row are handed on as they are if they are long; else operands are gathered into
// panels first. Steps other than 0 and 1 are gathered too.
template <class Arch, class T, class R, class F>
void zip_broadcast(const T* a, const T* b, R* c, const BroadcastPlan<2>& plan, int64_t begin, int64_t end,
                   F f) {
  const int64_t step_a = plan.strides[0][plan.rank - 1], step_b = plan.strides[1][plan.rank - 1];
  const bool unit = (step_a == 0 || step_a == 1) && (step_b == 0 || step_b == 1);
  if (unit && (plan.rank == 1 || plan.inner() >= 32)) {
    for_each_run(plan, begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
      zip<Arch>(a + offsets[0], step_a, b + offsets[1], step_b, c + at, count, f);
    });
    return;
  }
  const bool dense_a = plan.dense(0), dense_b = plan.dense(1);
  T x[panel], y[panel];
  for (int64_t at = begin; at < end; at += panel) {
    const int64_t count = end - at < panel ? end - at : panel;
    if (!dense_a) gather<Arch, 0>(plan, a, x, at, count);
    if (!dense_b) gather<Arch, 1>(plan, b, y, at, count);
    zip<Arch>(dense_a ? a + at : x, true, dense_b ? b + at : y, true, c + at, count, f);
  }
}

}  // namespace detail

// -------------------------------------------------------------------------------------------------- entry
// points

template <class Arch, UnaryOp op, class T>
void unary_of(UnaryParams p, const T* x, T* y, int64_t n) {
  if constexpr (std::is_integral_v<T>) detail::map<Arch>(x, y, n, IntegerUnary<op>{});
  else detail::map<Arch>(x, y, n, UnaryFunction<op>{p});
}

template <class Arch, class T>
void unary_impl(UnaryOp op, UnaryParams p, const T* x, T* y, int64_t n) {
  constexpr bool integer = std::is_integral_v<T>;
  constexpr int count = static_cast<int>(integer ? UnaryOp::bitwise_not : UnaryOp::thresholded_relu) + 1;
  detail::with_op<count>(op, [&]<UnaryOp known>() {
    if constexpr (integer || known != UnaryOp::bitwise_not) unary_of<Arch, known>(p, x, y, n);
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
bool map_power(const T* x, T* y, int64_t n, T e) {
  const double exponent = static_cast<double>(e);
  const auto root = [](const auto& v) {
    using B = std::decay_t<decltype(v)>;
    // pow has no -0 here, and infinity for -infinity.
    const B infinity(std::numeric_limits<typename B::value_type>::infinity());
    return xsimd::select(v == -infinity, infinity, xsimd::sqrt(v + B(0)));
  };
  if (exponent == 2) map<Arch>(x, y, n, [](const auto& v) { return v * v; });
  else if (exponent == 3) map<Arch>(x, y, n, [](const auto& v) { return v * v * v; });
  else if (exponent == 0.5) map<Arch>(x, y, n, root);
  else if (exponent == 1) map<Arch>(x, y, n, [](const auto& v) { return v; });
  else if (exponent == -1) map<Arch>(x, y, n, [](const auto& v) { return std::decay_t<decltype(v)>(1) / v; });
  else return false;
  return true;
}

}  // namespace detail

template <class Arch, BinaryOp op, class T>
bool binary_of(const T* a, const T* b, T* c, const BroadcastPlan<2>& plan, int64_t begin, int64_t end) {
  bool defined = true;
  if constexpr (std::is_integral_v<T>)
    detail::zip_broadcast<Arch>(a, b, c, plan, begin, end,
                                [&](T x, T y) { return IntegerBinary<op>{}(x, y, defined); });
  else detail::zip_broadcast<Arch>(a, b, c, plan, begin, end, BinaryFunction<op>{});
  return defined;
}

template <class Arch, class T>
bool binary_impl(BinaryOp op, const T* a, const T* b, T* c, const BroadcastPlan<2>& plan, int64_t begin,
                 int64_t end) {
  constexpr bool integer = std::is_integral_v<T>;
  constexpr int count = static_cast<int>(integer ? BinaryOp::shift_right : BinaryOp::prelu) + 1;
  bool defined = true;
  detail::with_op<count>(
      op, [&]<BinaryOp known>() { defined = binary_of<Arch, known>(a, b, c, plan, begin, end); });
  return defined;
}

template <class Arch, CompareOp op, class T>
void compare_of(const T* a, const T* b, bool* c, const BroadcastPlan<2>& plan, int64_t begin, int64_t end) {
  detail::zip_broadcast<Arch>(a, b, c, plan, begin, end, CompareFunction<op>{});
}

template <class Arch, class T>
void compare_impl(CompareOp op, const T* a, const T* b, bool* c, const BroadcastPlan<2>& plan, int64_t begin,
                  int64_t end) {
  constexpr int count = static_cast<int>(CompareOp::greater_equal) + 1;
  detail::with_op<count>(op, [&]<CompareOp known>() { compare_of<Arch, known>(a, b, c, plan, begin, end); });
}

template <class Arch>
void logic_impl(LogicOp op, const bool* a, const bool* b, bool* c, const BroadcastPlan<2>& plan,
                int64_t begin, int64_t end) {
  constexpr int count = static_cast<int>(LogicOp::logical_xor) + 1;
  detail::with_op<count>(op, [&]<LogicOp known>() {
    detail::zip_broadcast<Arch>(a, b, c, plan, begin, end, LogicFunction<known>{});
  });
}

namespace detail {

// Elements as blocks of bytes, moved by memcpy: they may have any type.
template <class Arch, std::size_t size>
void where_blocks(const bool* condition, const char* a, const char* b, char* c, const BroadcastPlan<3>& plan,
                  int64_t begin, int64_t end) {
  struct Block {
    char bytes[size];
  };
  const int inner = plan.rank - 1;
  const int64_t step = plan.strides[0][inner];
  const int64_t step_a = plan.strides[1][inner] * static_cast<int64_t>(size);
  const int64_t step_b = plan.strides[2][inner] * static_cast<int64_t>(size);
  for_each_run(plan, begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
    const bool* choose = condition + offsets[0];
    const char* from_a = a + offsets[1] * static_cast<int64_t>(size);
    const char* from_b = b + offsets[2] * static_cast<int64_t>(size);
    char* to = c + at * static_cast<int64_t>(size);
    for (int64_t i = 0; i < count; ++i) {
      Block x, y;
      std::memcpy(&x, from_a + i * step_a, size);
      std::memcpy(&y, from_b + i * step_b, size);
      if (!choose[i * step]) x = y;
      std::memcpy(to + i * static_cast<int64_t>(size), &x, size);
    }
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
