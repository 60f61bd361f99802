#include "tenon/op/math/min.hpp"

#include "tests/op/fold.hpp"

namespace tenon {

TEST_CASE("Min") {
  test::check_extreme<op::Min>([](auto x, auto y) { return x < y ? x : y; });
}

}  // namespace tenon
