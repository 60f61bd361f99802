#include "tenon/op/nn/global_average_pool.hpp"

#include "tests/op/global_pool.hpp"

namespace tenon {
using namespace test;

TEST_CASE("GlobalAveragePool: cases") {
  check_global_pool<op::GlobalAveragePool>(1.5, t<float>({1, 2, 1, 1}, {3, -2}), std::nanf(""));
}
}  // namespace tenon
