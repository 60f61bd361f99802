#include "tenon/op/logical/bitwise_xor.hpp"

#include "tests/op/bitwise.hpp"

namespace tenon {

TEST_CASE("BitwiseXor") {
  test::check_bitwise<op::BitwiseXor>([](auto x, auto y) { return x ^ y; });
}

}  // namespace tenon
