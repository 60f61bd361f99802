#include "tenon/kernels/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tenon/base/thread_pool.hpp"

namespace tenon::kernels {

TEST_CASE("Philox: the vectors that its authors publish") {
  constexpr auto zeros = Philox(0)(0);
  CHECK(zeros == std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr auto ones = Philox(~uint64_t{0})(~uint64_t{0}, ~uint64_t{0});
  CHECK(ones == std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  constexpr auto pi = Philox(0x299f31d0a4093822)(0x85a308d3243f6a88, 0x0370734413198a2e);
  CHECK(pi == std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("Philox: uniform numbers fill [0, 1) evenly") {
  constexpr int64_t blocks = 1 << 17, bins = 64;
  std::vector<int64_t> count(bins, 0);
  const Philox philox(7);
  for (int64_t k = 0; k < blocks; ++k)
    for (double u : philox.uniform(static_cast<uint64_t>(k))) {
      REQUIRE(u >= 0);
      REQUIRE(u < 1);
      ++count[static_cast<std::size_t>(u * bins)];
    }
  const double expected = 2.0 * blocks / bins;
  double chi2 = 0;
  for (int64_t c : count)
    chi2 += (static_cast<double>(c) - expected) * (static_cast<double>(c) - expected) / expected;
  // 63 degrees of freedom: mean 63, deviation 11.2.
  CHECK(chi2 > 20);
  CHECK(chi2 < 125);
}

TEST_CASE("random_normal: moments, tails, independence") {
  constexpr int64_t n = 1 << 20;
  std::vector<double> z(n);
  random_normal(z.data(), n, 42, 0, 1);
  double mean = 0, square = 0, cube = 0, fourth = 0, lag = 0;
  int64_t beyond = 0;
  for (int64_t k = 0; k < n; ++k) {
    const double x = z[static_cast<std::size_t>(k)];
    mean += x / n, square += x * x / n, cube += x * x * x / n, fourth += x * x * x * x / n;
    beyond += std::abs(x) > 1.959963985;
    if (k > 0) lag += x * z[static_cast<std::size_t>(k - 1)] / n;
  }
  // Five standard errors each.
  CHECK(std::abs(mean) < 5 / 1024.0);
  CHECK(std::abs(square - 1) < 5 * std::sqrt(2.0) / 1024);
  CHECK(std::abs(cube) < 5 * std::sqrt(15.0) / 1024);
  CHECK(std::abs(fourth - 3) < 5 * std::sqrt(96.0) / 1024);
  CHECK(std::abs(lag) < 5 / 1024.0);
  CHECK(std::abs(static_cast<double>(beyond) / n - 0.05) < 5 * std::sqrt(0.05 * 0.95) / 1024);
}

TEST_CASE("random_normal: the same numbers for a seed, whatever the threads, the length and the type") {
  std::vector<float> a(10001), b(10001), c(501);
  std::vector<double> wide(10001);
  random_normal(a.data(), 10001, 9, 3, 2);
  random_normal(c.data(), 501, 9, 3, 2);
  random_normal(wide.data(), 10001, 9, 3, 2);
  {
    ThreadPool pool(3);
    const ScopedPool scope(pool);
    random_normal(b.data(), 10001, 9, 3, 2);
  }
  CHECK(a == b);
  CHECK(std::equal(c.begin(), c.end(), a.begin()));
  for (std::size_t k = 0; k < a.size(); ++k) CHECK(a[k] == static_cast<float>(wide[k]));
  random_normal(b.data(), 10001, 10, 3, 2);
  CHECK(a != b);
}

TEST_CASE("fresh_seed: each time another") {
  std::set<uint64_t> seen;
  for (int k = 0; k < 1000; ++k) seen.insert(fresh_seed());
  CHECK(seen.size() == 1000);
}

}  // namespace tenon::kernels
