#include "tenon/op/logical/bitwise_or.hpp"

#include "tests/op/bitwise.hpp"

namespace tenon {

TEST_CASE("BitwiseOr") {
  test::check_bitwise<op::BitwiseOr>([](auto x, auto y) { return x | y; });
}

}  // namespace tenon
