#include "tenon/op/math/max.hpp"

#include "tests/op/fold.hpp"

namespace tenon {

TEST_CASE("Max") {
  test::check_extreme<op::Max>([](auto x, auto y) { return x > y ? x : y; });
}

}  // namespace tenon
