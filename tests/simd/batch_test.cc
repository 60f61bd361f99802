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
  return expected ? simd::all(v) : !simd::any(v);
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
      CHECK(all_of<T>(simd::isnan(x), a != a));
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

TEST_CASE_TEMPLATE("folds of lanes", T, float, double) {
  using L = std::numeric_limits<T>;
  constexpr int width = simd::lanes<T, simd::Native>;
  for (int at = 0; at < width; ++at) {
    T lane[width];
    for (int i = 0; i < width; ++i) lane[i] = static_cast<T>(i);
    lane[at] = T(-3);
    const auto fold = [&](auto f) { return f(simd::loadu<simd::Native>(lane)); };
    const auto greatest = [](const auto& v) { return simd::max_of_lanes(v); };
    const auto least = [](const auto& v) { return simd::min_of_lanes(v); };
    CHECK(fold(least) == T(-3));
    CHECK(fold(greatest) == static_cast<T>(at == width - 1 ? width - 2 : width - 1));
    for (const T special : {L::infinity(), -L::infinity()}) {
      lane[at] = special;
      CHECK(fold(least) == (special < 0 ? special : T(at == 0)));
      CHECK((fold(greatest) == special) == (special > 0));
    }
    lane[at] = L::quiet_NaN();
    CHECK(std::isnan(fold(greatest)));
    CHECK(std::isnan(fold(least)));
  }
  CHECK(!std::signbit(simd::min_of_lanes(Batch<T>(T(0)))));
  CHECK(std::signbit(simd::min_of_lanes(Batch<T>(T(-0.0)))));
  CHECK(!std::signbit(simd::max_of_lanes(Batch<T>(T(0)))));
}

TEST_CASE_TEMPLATE("first_n takes lanes from both", T, float, double) {
  constexpr int width = simd::lanes<T, simd::Native>;
  for (int n = 0; n <= width; ++n) {
    T lane[width];
    simd::storeu(lane, simd::first_n(Batch<T>(T(1)), n, Batch<T>(T(2))));
    for (int i = 0; i < width; ++i) CHECK(lane[i] == (i < n ? T(1) : T(2)));
  }
}
