// Numbers that are scaled and shifted have the same bits with flags by which a compiler may contract both
// steps to one.
#include <doctest/doctest.h>

#include <vector>

#include "tenon/kernels/mersenne_twister.hpp"
#include "tenon/kernels/random.hpp"

using namespace tenon;
using namespace tenon::kernels;

namespace {

constexpr int64_t count = 200;

/// x * scale + shift, each rounded to T.
template <class T>
T rounded_twice(T x, T scale, T shift) {
  volatile T scaled = x * scale;
  return scaled + shift;
}

}  // namespace

TEST_CASE("random_normal and random_uniform of a MersenneTwister: two roundings, as numpy's") {
  std::vector<float> normal(count), uniform(count);
  random_normal(normal.data(), count, MersenneTwister(3), 0.1f, 0.7f);
  random_uniform(uniform.data(), count, MersenneTwister(3), 0.1f, 0.8f);
  MersenneTwister of_normal(3), of_uniform(3);
  const auto span = static_cast<float>(double{0.8f} - double{0.1f});
  int differ = 0;
  for (std::size_t k = 0; k < count; ++k) {
    differ += normal[k] != rounded_twice(static_cast<float>(of_normal.normal()), 0.7f, 0.1f);
    differ += uniform[k] != rounded_twice(static_cast<float>(of_uniform.uniform()), span, 0.1f);
  }
  CHECK(differ == 0);
}

TEST_CASE("random_normal and random_uniform of a seed: two roundings") {
  std::vector<double> normal(count), uniform(count);
  random_normal(normal.data(), count, 3, 0.1, 0.7);
  random_uniform(uniform.data(), count, 3, -0.3, 0.7);
  const Philox philox(3);
  const double span = 0.7 - -0.3;
  int differ = 0;
  for (std::size_t k = 0; k < count; ++k) {
    differ += normal[k] != rounded_twice(philox.normal(k / 2)[k % 2], 0.7, 0.1);
    differ += uniform[k] != rounded_twice(philox.uniform(k / 2)[k % 2], span, -0.3);
  }
  CHECK(differ == 0);
}
