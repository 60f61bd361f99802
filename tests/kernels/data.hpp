// What the kernel tests share: sizes around the lane counts, numbers with special ones among them,
// comparison.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "tenon/base/types.hpp"

namespace test {

inline const int64_t sizes[] = {0,  1,  2,  3,  4,  5,  7,   8,   9,   15,  16,  17,
                                31, 32, 33, 63, 64, 65, 127, 129, 255, 257, 1000};

template <class T>
inline constexpr bool is_real = !std::is_integral_v<T>;

/// Relative spacing of T's numbers, and its least normal number.
template <class T>
double epsilon() {
  return static_cast<double>(std::numeric_limits<T>::epsilon());
}
template <class T>
double least_normal() {
  return static_cast<double>(std::numeric_limits<T>::min());
}

/// n numbers between low and high, the same for the same arguments.
template <class T>
std::vector<T> numbers(int64_t n, double low = -4, double high = 4, unsigned seed = 1) {
  std::mt19937 bits(seed + static_cast<unsigned>(n));
  std::uniform_real_distribution<double> real(low, high);
  std::vector<T> v;
  for (int64_t i = 0; i < n; ++i)
    if constexpr (std::is_integral_v<T>)
      v.push_back(static_cast<T>(static_cast<int64_t>(std::floor(real(bits)))));
    else v.push_back(static_cast<T>(real(bits)));
  return v;
}

/// The same with NaN, infinities, zeros, denormals and extreme numbers strewn in (reals), or the type's
/// extremes.
template <class T>
std::vector<T> strange_numbers(int64_t n, double low = -4, double high = 4, unsigned seed = 1) {
  using L = std::numeric_limits<T>;
  std::vector<T> v = numbers<T>(n, low, high, seed);
  std::mt19937 bits(seed);
  for (T& x : v) {
    if (bits() % 4) continue;
    if constexpr (is_real<T>) {
      const T special[] = {L::quiet_NaN(), L::infinity(), -L::infinity(), T(0.0f), T(-0.0f),  L::denorm_min(),
                           L::max(),       L::lowest(),   L::min(),       T(1.0f), T(-1.0f),  T(0.5f),
                           T(-2.5f),       T(1.5f),       T(-0.5f),       T(2.5f), -L::min(), T(100.0f)};
      x = special[bits() % std::size(special)];
    } else {
      const T special[] = {L::min(), L::max(), T(0), T(1), static_cast<T>(-1), T(2)};
      x = special[bits() % std::size(special)];
    }
  }
  return v;
}

/// Whether y is what `expected` rounds to, within `ulp` spacings of T and `absolute`.
template <class T>
bool close(T y, double expected, double ulp, double absolute = 0) {
  const double value = static_cast<double>(y), largest = static_cast<double>(std::numeric_limits<T>::max());
  if (std::isnan(expected)) return std::isnan(value);
  if (std::isinf(expected)) return value == expected;
  const double error = ulp * epsilon<T>() * std::fmax(std::fabs(expected), least_normal<T>()) + absolute;
  if (std::isinf(value)) return std::fabs(expected) + error > largest && (value > 0) == (expected > 0);
  return std::fabs(value - expected) <= error;
}

/// Every f.operator()<T>() for the floating-point types that kernels take.
template <class F>
void for_each_float(F f) {
  f.template operator()<float>();
  f.template operator()<double>();
  f.template operator()<tenon::float16>();
  f.template operator()<tenon::bfloat16>();
}

template <class F>
void for_each_integer(F f) {
  f.template operator()<int8_t>();
  f.template operator()<int16_t>();
  f.template operator()<int32_t>();
  f.template operator()<int64_t>();
  f.template operator()<uint8_t>();
  f.template operator()<uint16_t>();
  f.template operator()<uint32_t>();
  f.template operator()<uint64_t>();
}

}  // namespace test
