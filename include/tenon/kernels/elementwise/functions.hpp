// The functions of elements. unary_row and binary_row hold a row for each: its cost, its body for batches of
// float or double, and its body for integers, which the compiler vectorises.
#pragma once

#include <cmath>
#include <type_traits>

#include "tenon/base/costs.hpp"
#include "tenon/kernels/elementwise/ops.hpp"
#include "tenon/simd/math.hpp"

namespace tenon::TENON_ABI::kernels::detail {

/// Marks that a function has no body for a type of elements.
struct None {};

/// A function: elements that a task takes, its body for batches, its body for integers.
template <int64_t task, class Real, class Integer>
struct Row {
  using real = Real;
  using integer = Integer;
  static constexpr int64_t grain = task;
};
template <class Real, class Integer = None>
constexpr Row<task_work::cheap, Real, Integer> cheap(Real, Integer = {}) {
  return {};
}
/// A function so costly that converting narrow floats to a panel of floats adds little.
template <class Real, class Integer = None>
constexpr Row<task_work::costly, Real, Integer> costly(Real, Integer = {}) {
  return {};
}

/// A body for integers whose bits do not depend on the sign (arithmetic that wraps). It is compiled for
/// unsigned types and serves signed ones too.
template <class F>
struct Wrapping : F {
  using F::operator();
};
template <class F>
Wrapping(F) -> Wrapping<F>;
template <class F>
inline constexpr bool wraps = false;
template <class F>
inline constexpr bool wraps<Wrapping<F>> = true;

/// The bits of an integer, so that arithmetic of any width wraps; the compiler narrows it back.
constexpr uint64_t wide(auto x) { return static_cast<uint64_t>(x); }

/// UnaryParams and the constants of functions as batches.
template <class B>
struct Constants {
  using T = typename B::value_type;
  B a, b, zero, one;
  explicit Constants(UnaryParams p) : a(of(p.alpha)), b(of(p.beta)), zero(of(0)), one(of(1)) {}
  static B of(double v) { return B(static_cast<T>(v)); }
};

constexpr auto between(const auto& x, const auto& low, const auto& high) {
  return simd::at_most(simd::at_least(x, low), high);
}

template <UnaryOp op>
constexpr auto unary_row() {
  using enum UnaryOp;
  if constexpr (op == absolute)
    return cheap([](auto x, auto) { return simd::abs(x); },
                 [](auto x) { return x < 0 ? static_cast<decltype(x)>(0 - wide(x)) : x; });
  else if constexpr (op == negate)
    // -0 minus x: with AVX-512 xsimd computes -x as 0 - x, which turns +0 into +0.
    return cheap([](auto x, auto k) { return k.of(-0.0) - x; }, [](auto x) { return 0 - wide(x); });
  else if constexpr (op == sign)
    return cheap(
        [](auto x, auto k) {
          return simd::select(x > k.zero, k.one, simd::select(x < k.zero, -k.one, x * k.zero));
        },
        [](auto x) { return (x > 0) - (x < 0); });
  else if constexpr (op == square)
    return cheap([](auto x, auto) { return x * x; }, [](auto x) { return wide(x) * wide(x); });
  else if constexpr (op == relu)
    return cheap([](auto x, auto k) { return simd::at_least(x, k.zero); },
                 [](auto x) { return x < 0 ? decltype(x)(0) : x; });
  else if constexpr (op == bitwise_not) return cheap(None{}, [](auto x) { return ~x; });
  else if constexpr (op == acos) return costly([](auto x, auto) { return simd::acos(x); });
  else if constexpr (op == acosh) return costly([](auto x, auto) { return simd::acosh(x); });
  else if constexpr (op == asin) return costly([](auto x, auto) { return simd::asin(x); });
  else if constexpr (op == asinh) return costly([](auto x, auto) { return simd::asinh(x); });
  else if constexpr (op == atan) return costly([](auto x, auto) { return simd::atan(x); });
  else if constexpr (op == atanh) return costly([](auto x, auto) { return simd::atanh(x); });
  else if constexpr (op == ceil) return cheap([](auto x, auto) { return simd::ceil(x); });
  else if constexpr (op == celu)
    return costly([](auto x, auto k) {
      return simd::select(x < k.zero, k.a * simd::expm1(simd::div(simd::at_most(x, k.zero), k.a)), x);
    });
  else if constexpr (op == clip) return cheap([](auto x, auto k) { return between(x, k.a, k.b); });
  else if constexpr (op == cos) return costly([](auto x, auto) { return simd::cos(x); });
  else if constexpr (op == cosh) return costly([](auto x, auto) { return simd::cosh(x); });
  else if constexpr (op == elu)
    return costly([](auto x, auto k) { return simd::select(x < k.zero, k.a * simd::expm1_negative(x), x); });
  else if constexpr (op == erf) return costly([](auto x, auto) { return simd::erf(x); });
  else if constexpr (op == exp) return costly([](auto x, auto) { return simd::exp(x); });
  else if constexpr (op == floor) return cheap([](auto x, auto) { return simd::floor(x); });
  else if constexpr (op == gelu) return costly([](auto x, auto) { return simd::gelu(x); });
  else if constexpr (op == gelu_tanh) return costly([](auto x, auto) { return simd::gelu_tanh(x); });
  else if constexpr (op == hard_sigmoid)
    return cheap([](auto x, auto k) { return between(simd::mul_add(k.a, x, k.b), k.zero, k.one); });
  else if constexpr (op == hard_swish)
    return cheap([](auto x, auto k) {
      return x * between(simd::mul_add(k.of(1.0 / 6), x, k.of(0.5)), k.zero, k.one);
    });
  else if constexpr (op == leaky_relu)
    return cheap([](auto x, auto k) { return simd::select(x < k.zero, k.a * x, x); });
  else if constexpr (op == linear) return cheap([](auto x, auto k) { return simd::mul_add(k.a, x, k.b); });
  else if constexpr (op == log) return costly([](auto x, auto) { return simd::log(x); });
  else if constexpr (op == mish) return costly([](auto x, auto) { return simd::mish(x); });
  else if constexpr (op == reciprocal) return costly([](auto x, auto k) { return simd::div(k.one, x); });
  else if constexpr (op == round) return cheap([](auto x, auto) { return simd::nearbyint(x); });
  else if constexpr (op == selu)
    return costly(
        [](auto x, auto k) { return k.b * simd::select(x > k.zero, x, k.a * simd::expm1_negative(x)); });
  else if constexpr (op == shrink)
    return cheap([](auto x, auto k) {
      return simd::select(x < -k.a, x + k.b, simd::select(x > k.a, x - k.b, k.zero));
    });
  else if constexpr (op == sigmoid) return costly([](auto x, auto) { return simd::sigmoid(x); });
  else if constexpr (op == sin) return costly([](auto x, auto) { return simd::sin(x); });
  else if constexpr (op == sinh) return costly([](auto x, auto) { return simd::sinh(x); });
  else if constexpr (op == softplus) return costly([](auto x, auto) { return simd::softplus(x); });
  else if constexpr (op == softsign)
    return costly([](auto x, auto k) { return simd::div(x, k.one + simd::abs(x)); });
  else if constexpr (op == sqrt) return costly([](auto x, auto) { return simd::sqrt(x); });
  else if constexpr (op == swish) return costly([](auto x, auto k) { return x * simd::sigmoid(k.a * x); });
  else if constexpr (op == tan) return costly([](auto x, auto) { return simd::tan(x); });
  else if constexpr (op == tanh) return costly([](auto x, auto) { return simd::tanh(x); });
  else if constexpr (op == thresholded_relu)
    return cheap([](auto x, auto k) { return simd::select(x > k.a, x, k.zero); });
  else static_assert(op == op_count, "a function without a row");
}

/// x / y or its remainder, 0 if y is 0. The least integer over -1 overflows, and traps on x86.
template <class T>
T quotient(T x, T y, bool& defined) {
  defined = defined && y != T(0);
  if (y == T(0)) return T(0);
  if (std::is_signed_v<T> && y == static_cast<T>(-1)) return static_cast<T>(0 - wide(x));
  return static_cast<T>(x / y);
}
template <class T>
T rest(T x, T y, bool& defined) {
  defined = defined && y != T(0);
  return y == T(0) || (std::is_signed_v<T> && y == static_cast<T>(-1)) ? T(0) : static_cast<T>(x % y);
}

/// Bodies for integers with undefined results take a third operand, which they set to false for such a
/// result.
template <BinaryOp op>
constexpr auto binary_row() {
  using enum BinaryOp;
  if constexpr (op == add)
    return cheap([](auto x, auto y) { return x + y; }, Wrapping{[](auto x, auto y) { return x + y; }});
  else if constexpr (op == sub)
    return cheap([](auto x, auto y) { return x - y; }, Wrapping{[](auto x, auto y) { return x - y; }});
  else if constexpr (op == mul)
    return cheap([](auto x, auto y) { return x * y; },
                 Wrapping{[](auto x, auto y) { return wide(x) * wide(y); }});
  else if constexpr (op == div)
    return cheap([](auto x, auto y) { return simd::div(x, y); },
                 [](auto x, auto y, bool& defined) { return quotient(x, y, defined); });
  else if constexpr (op == min)
    return cheap([](auto x, auto y) { return simd::min_nan(x, y); },
                 [](auto x, auto y) { return x < y ? x : y; });
  else if constexpr (op == max)
    return cheap([](auto x, auto y) { return simd::max_nan(x, y); },
                 [](auto x, auto y) { return x > y ? x : y; });
  else if constexpr (op == pow)
    return costly([](auto x, auto y) { return simd::pow(x, y); },
                  [](auto x, auto y, bool& defined) {
                    if (x == 0 && y < 0) defined = false;
                    return power(x, y);
                  });
  else if constexpr (op == mod)
    return costly([](auto x, auto y) { return simd::mod(x, y); },
                  [](auto x, auto y, bool& defined) {
                    const auto r = rest(x, y, defined);
                    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
                  });
  else if constexpr (op == fmod)
    return costly([](auto x, auto y) { return simd::fmod(x, y); },
                  [](auto x, auto y, bool& defined) { return rest(x, y, defined); });
  else if constexpr (op == prelu)
    return cheap([](auto x, auto y) { return simd::select(x < decltype(x)(0), x * y, x); },
                 [](auto x, auto y) { return x < 0 ? static_cast<decltype(x)>(wide(x) * wide(y)) : x; });
  else if constexpr (op == bitwise_and) return cheap(None{}, Wrapping{[](auto x, auto y) { return x & y; }});
  else if constexpr (op == bitwise_or) return cheap(None{}, Wrapping{[](auto x, auto y) { return x | y; }});
  else if constexpr (op == bitwise_xor) return cheap(None{}, Wrapping{[](auto x, auto y) { return x ^ y; }});
  else if constexpr (op == shift_left)
    return cheap(None{}, Wrapping{[](auto x, auto y) {
                   return wide(y) < 8 * sizeof x ? static_cast<decltype(x)>(wide(x) << wide(y))
                                                 : decltype(x)(0);
                 }});
  else if constexpr (op == shift_right)
    return cheap(None{}, Wrapping{[](auto x, auto y) {
                   return wide(y) < 8 * sizeof x ? static_cast<decltype(x)>(x >> wide(y)) : decltype(x)(0);
                 }});
  else static_assert(op == op_count, "a function without a row");
}

/// One comparison of numbers or batches.
template <CompareOp op>
struct CompareFunction {
  template <class T>
  auto operator()(const T& x, const T& y) const {
    using enum CompareOp;
    if constexpr (op == equal) return x == y;
    else if constexpr (op == less) return x < y;
    else if constexpr (op == less_equal) return x <= y;
    else static_assert(op == equal, "comparisons from the other side are made with operands exchanged");
  }
};

}  // namespace tenon::TENON_ABI::kernels::detail
