#include "tenon/array/random.hpp"

#include <doctest/doctest.h>

#include "tenon/base/thread_pool.hpp"

namespace tenon {
namespace {

struct Moments {
  double mean = 0, deviation = 0, skew = 0, kurtosis = 0;
};
template <class T, class S>
Moments moments(const Tensor<T, S>& t) {
  Moments m;
  const auto n = static_cast<double>(t.size());
  for (const T x : t) m.mean += static_cast<double>(x) / n;
  for (const T x : t) {
    const double d = static_cast<double>(x) - m.mean;
    m.deviation += d * d / n;
    m.skew += d * d * d / n;
    m.kurtosis += d * d * d * d / n;
  }
  m.skew /= std::pow(m.deviation, 1.5);
  m.kurtosis /= m.deviation * m.deviation;
  m.deviation = std::sqrt(m.deviation);
  return m;
}
template <class T, class S>
bool same(const Tensor<T, S>& a, std::initializer_list<double> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](T x, double y) { return x == T(y); });
}

}  // namespace

TEST_CASE("random: the numbers of a seed are these, on every platform") {
  CHECK(same(random<double, Shape<4>>(42),
             {0.46858651833910492, 0.34086154938517876, 0.32706338120338474, 0.45431560173488827}));
  CHECK(same(random<float>({2}, 42, -2, 6), {1.74869204, 0.726891994}));
  CHECK(same(normal<double, Shape<4>>(42),
             {0.1262498542224193, -1.6646067234137538, 0.13703222008305116, 1.1091681537853155}));
  CHECK(same(random<int32_t>({8}, 42, 1, 6), {5, 2, 3, 1, 4, 5, 6, 5}));
}

TEST_CASE("random: extents, types and threads do not change the numbers") {
  const auto flat = random<float>({60'000}, 7);
  const auto table = random<float, Shape<200, 300>>(7);
  CHECK(std::equal(flat.begin(), flat.end(), table.begin(), table.end()));
  CHECK(random<float, Shape<3>>(7)(2) == flat(2));
  CHECK(random<float>(table.extents(), 7)(199, 299) == table(199, 299));
  CHECK(std::abs(random<double, Shape<3>>(7)(2) - flat(2)) < 1e-7);
  CHECK(random<float, Shape<3>>(8)(2) != flat(2));
  const auto one = normal<float>({5000}, 7);
  ThreadPool pool(3);
  const ScopedPool scope(pool);
  const auto many = normal<float>({5000}, 7);
  CHECK(std::equal(one.begin(), one.end(), many.begin(), many.end()));
}

TEST_CASE("random: distributions") {
  const auto u = random<float>({100'000}, 1);
  const Moments m = moments(u);
  CHECK(std::abs(m.mean - 0.5) < 0.004);
  CHECK(std::abs(m.deviation - 1 / std::sqrt(12)) < 0.002);
  for (const float x : u) REQUIRE((x >= 0 && x < 1));
  for (const float16 x : random<float16>({100'000}, 1)) REQUIRE((x >= float16(0.0f) && x < float16(1.0f)));
  const auto z = normal<double>({100'000}, 1, 3, 2);
  const Moments n = moments(z);
  CHECK(std::abs(n.mean - 3) < 0.02);
  CHECK(std::abs(n.deviation - 2) < 0.015);
  CHECK(std::abs(n.skew) < 0.03);
  CHECK(std::abs(n.kurtosis - 3) < 0.06);
  // How many lie within one, two and three deviations.
  for (const auto& [bound, share] : {std::pair{1.0, 0.682689}, {2.0, 0.954500}, {3.0, 0.997300}}) {
    int64_t inside = 0;
    for (const double x : z) inside += std::abs(x - 3) < 2 * bound;
    CHECK(std::abs(static_cast<double>(inside) / 1e5 - share) < 0.005);
  }
  int64_t seen[6] = {};
  for (const int64_t x : random<int64_t>({60'000}, 1, 1, 6)) {
    REQUIRE((x >= 1 && x <= 6));
    ++seen[x - 1];
  }
  for (const int64_t n_of : seen) CHECK(std::abs(n_of - 10'000) < 400);
  CHECK(random<int8_t>({3}, 1, 5, 5)(2) == 5);
  bool negative = false;
  for (const int64_t x : random<int64_t>({64}, 1, INT64_MIN, INT64_MAX)) negative |= x < 0;
  CHECK(negative);
  for (const int32_t x : random<int32_t>({64}, 1)) CHECK(x >= 0);
  CHECK(normal<float>({2}, 1, 4, 0)(1) == 4);
}

TEST_CASE("random: errors") {
  CHECK_THROWS_WITH_AS((random<float>({1}, 1, 0, INFINITY)), "random: bounds and their distance are finite",
                       Error);
  CHECK_THROWS_WITH_AS((random<double>({1}, 1, -1e308, 1e308)),
                       "random: bounds and their distance are finite", Error);
  CHECK_THROWS_WITH_AS((random<int32_t>({1}, 1, 2, 1)), "random: high is below low", Error);
  CHECK_THROWS_WITH_AS((random<float>({-1}, 1)), "random: negative extent in (-1)", Error);
  CHECK_THROWS_AS((normal<float>({1}, 1, 0, -1)), Error);
  CHECK_THROWS_AS((normal<float>({1}, 1, NAN)), Error);
  CHECK_THROWS_WITH_AS((normal<float>({-1}, 1)), "normal: negative extent in (-1)", Error);
}

}  // namespace tenon
