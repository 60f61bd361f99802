#include "tenon/simd/batch.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace tenon;

namespace {

template <class T>
using Batch = simd::batch<T, simd::Native>;

// Whether all lanes are as expected.
template <class T>
bool all_of(const simd::batch_bool<T, simd::Native>& v, bool expected) {
  return expected ? xsimd::all(v) : !xsimd::any(v);
}

}  // namespace

TEST_CASE_TEMPLATE("comparisons with NaN", T, float, double) {
  using L = std::numeric_limits<T>;
  const T numbers[] = {T(0), T(-0.0), T(1), T(-1), L::infinity(), -L::infinity(), L::quiet_NaN()};
  for (const T a : numbers)
    for (const T b : numbers) {
      CAPTURE(a);
      CAPTURE(b);
      const Batch<T> x(a), y(b);
      CHECK(all_of<T>(x == y, a == b));
      CHECK(all_of<T>(x != y, a != b));
      CHECK(all_of<T>(x < y, a < b));
      CHECK(all_of<T>(x <= y, a <= b));
      CHECK(all_of<T>(x > y, a > b));
      CHECK(all_of<T>(x >= y, a >= b));
      CHECK(all_of<T>(xsimd::isnan(x), a != a));
    }
}

TEST_CASE_TEMPLATE("mul_add rounds once where the level has FMA", T, float, double) {
  const T e = std::numeric_limits<T>::epsilon();
  // (1 + e) (1 - e) - 1 = -e^2, which a product that is rounded first has lost.
  T lane[simd::lanes<T, simd::Native>];
  const Batch<T> x(1 + e), y(1 - e), z(T(-1));
  simd::storeu(lane, simd::mul_add(x, y, z));
  const T fused = -e * e;
  for (const T v : lane) {
    if (std::is_same_v<simd::Native, simd::Baseline>) CHECK((v == fused || v == 0));
    else CHECK(v == fused);
  }
}
