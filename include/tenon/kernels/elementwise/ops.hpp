// The functions of elements by name: enumerators, parameters, and the power, which works for any two types.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenon/base/abi.hpp"
#include "tenon/base/costs.hpp"

namespace tenon::TENON_ABI::kernels {

/// y = f(x). `a` and `b` stand for UnaryParams::alpha and beta. Each function has a row in functions.hpp; its
/// position among the others is irrelevant.
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
  op_count           // must stay last
};

struct UnaryParams {
  double alpha = 0, beta = 0;
};

/// c = f(a, b). Integer results wrap. Each function has a row in functions.hpp.
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
  op_count      // must stay last
};

enum class CompareOp : uint8_t { equal, less, less_equal, greater, greater_equal };

enum class LogicOp : uint8_t { logical_and, logical_or, logical_xor };

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

}  // namespace tenon::TENON_ABI::kernels
