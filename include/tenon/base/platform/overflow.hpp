// Integer arithmetic that tells whether its result fits. Compilers without the instructions' builtins compute
// the same in plain C++.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenon/base/version.hpp"

namespace tenon::TENON_ABI::detail {

/// *result = a + b, and false, if the sum fits Int; else true.
template <class Int>
constexpr bool add_overflow(Int a, std::type_identity_t<Int> b, Int* result) {
#if defined(__GNUC__)
  return __builtin_add_overflow(a, b, result);
#else
  using Limits = std::numeric_limits<Int>;
  if (b < 0 ? a < Limits::min() - b : a > Limits::max() - b) return true;
  *result = a + b;
  return false;
#endif
}

/// The same for a - b.
template <class Int>
constexpr bool sub_overflow(Int a, std::type_identity_t<Int> b, Int* result) {
#if defined(__GNUC__)
  return __builtin_sub_overflow(a, b, result);
#else
  using Limits = std::numeric_limits<Int>;
  if (b < 0 ? a > Limits::max() + b : a < Limits::min() + b) return true;
  *result = a - b;
  return false;
#endif
}

/// The same for a * b.
template <class Int>
constexpr bool mul_overflow(Int a, std::type_identity_t<Int> b, Int* result) {
#if defined(__GNUC__)
  return __builtin_mul_overflow(a, b, result);
#else
  using Limits = std::numeric_limits<Int>;
  if (a != 0 && b != 0) {
    // -1 is no divisor: min / -1 overflows.
    if (a < 0 && b < 0 ? a < Limits::max() / b
        : a < 0        ? a < Limits::min() / b
        : b < 0        ? b < Limits::min() / a
                       : a > Limits::max() / b)
      return true;
  }
  *result = a * b;
  return false;
#endif
}

/// a * b for a, b >= 0, or `most` if the product is greater.
constexpr int64_t bounded_product(int64_t a, int64_t b, int64_t most) {
  int64_t product = 0;
  return mul_overflow(a, b, &product) || product > most ? most : product;
}

/// The upper 64 bits of a * b; *low receives the lower ones.
constexpr uint64_t multiply_wide(uint64_t a, uint64_t b, uint64_t* low) {
#if defined(__SIZEOF_INT128__)
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  *low = static_cast<uint64_t>(product);
  return static_cast<uint64_t>(product >> 64);
#else
  constexpr uint64_t half = 0xffffffff;
  const uint64_t lower = (a & half) * (b & half), middle = (a >> 32) * (b & half) + (lower >> 32);
  const uint64_t other = (a & half) * (b >> 32) + (middle & half);
  *low = other << 32 | (lower & half);
  return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
#endif
}

}  // namespace tenon::TENON_ABI::detail
