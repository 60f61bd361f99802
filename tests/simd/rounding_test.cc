// Division and the square root are rounded correctly in every lane: xsimd's own are estimates on some
// targets.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "tenon/simd/math.hpp"

using namespace tenon;

namespace {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// Numbers of all magnitudes, denormal ones too, and the special ones.
template <class T>
std::vector<T> operands(unsigned seed) {
  using L = std::numeric_limits<T>;
  std::vector<T> x{T(0),
                   T(-0.0),
                   T(1),
                   T(-1),
                   T(3),
                   L::min(),
                   L::max(),
                   L::denorm_min(),
                   -L::denorm_min(),
                   L::infinity(),
                   -L::infinity(),
                   L::quiet_NaN()};
  std::mt19937_64 random(seed);
  while (x.size() < 1 << 14) x.push_back(std::bit_cast<T>(static_cast<BitsOf<T>>(random())));
  // Numbers near one, where most quotients and roots are neither tiny nor huge.
  while (x.size() < 1 << 15) x.push_back(std::ldexp(static_cast<T>(random()), -60));
  return x;
}

template <class T>
bool same(T a, T b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<BitsOf<T>>(a) == std::bit_cast<BitsOf<T>>(b);
}

}  // namespace

TEST_CASE_TEMPLATE("div: the same bits as scalars", T, float, double) {
  constexpr std::size_t width = simd::lanes<T, simd::Native>;
  const std::vector<T> x = operands<T>(1);
  std::vector<T> y = operands<T>(2);
  // Special numbers over one another, and over others.
  std::rotate(y.begin(), y.begin() + 5, y.end());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < x.size(); i += width) {
    T lane[width];
    simd::storeu(lane, simd::div(simd::loadu<simd::Native>(&x[i]), simd::loadu<simd::Native>(&y[i])));
    for (std::size_t k = 0; k < width; ++k) wrong += !same(lane[k], x[i + k] / y[i + k]);
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("sqrt: the same bits as scalars", T, float, double) {
  constexpr std::size_t width = simd::lanes<T, simd::Native>;
  const std::vector<T> x = operands<T>(3);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < x.size(); i += width) {
    T lane[width];
    simd::storeu(lane, simd::sqrt(simd::loadu<simd::Native>(&x[i])));
    for (std::size_t k = 0; k < width; ++k) wrong += !same(lane[k], std::sqrt(x[i + k]));
  }
  CHECK(wrong == 0);
}
