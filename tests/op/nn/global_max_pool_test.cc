#include "tenon/op/nn/global_max_pool.hpp"

#include "tests/op/global_pool.hpp"

namespace tenon {
using namespace test;

TEST_CASE("GlobalMaxPool: cases") {
  check_global_pool<op::GlobalMaxPool>(2, t<float>({1, 2, 1, 1}, {6, -1}), -INFINITY);
}
}  // namespace tenon
