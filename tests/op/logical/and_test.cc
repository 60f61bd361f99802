#include "tenon/op/logical/and.hpp"

#include "tests/op/logical.hpp"

namespace tenon {

TEST_CASE("And") {
  test::check_logical<op::And, op::And_1>([](bool x, bool y) { return x && y; });
}

}  // namespace tenon
