#include "tenon/op/logical/bitwise_and.hpp"

#include "tests/op/bitwise.hpp"

namespace tenon {

TEST_CASE("BitwiseAnd") {
  test::check_bitwise<op::BitwiseAnd>([](auto x, auto y) { return x & y; });
}

}  // namespace tenon
