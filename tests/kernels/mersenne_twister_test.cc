#include "tenon/kernels/mersenne_twister.hpp"

#include <doctest/doctest.h>

#include <random>

namespace tenon::kernels {

TEST_CASE("MersenneTwister: the words of the standard library's") {
  for (uint32_t seed : {0u, 1u, 5489u, 0xffffffffu}) {
    MersenneTwister ours(seed);
    std::mt19937 theirs(seed);
    int differ = 0;
    for (int k = 0; k < 2000; ++k) differ += ours.next() != theirs();
    CHECK(differ == 0);
  }
}

TEST_CASE("MersenneTwister: the doubles of numpy's RandomState(0)") {
  MersenneTwister random(0);
  CHECK(random.uniform() == 0.5488135039273248);
  CHECK(random.uniform() == 0.7151893663724195);
  CHECK(random.uniform() == 0.6027633760716439);
}

TEST_CASE("MersenneTwister: the normal numbers of numpy's RandomState(0)") {
  MersenneTwister random(0);
  for (double expected : {1.764052345967664, 0.4001572083672233, 0.9787379841057392, 2.240893199201458})
    CHECK(std::abs(random.normal() - expected) <= 1e-15);
}

}  // namespace tenon::kernels
