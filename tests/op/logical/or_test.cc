#include "tenon/op/logical/or.hpp"

#include "tests/op/logical.hpp"

namespace tenon {

TEST_CASE("Or") {
  test::check_logical<op::Or, op::Or_1>([](bool x, bool y) { return x || y; });
}

}  // namespace tenon
