#include "tenon/op/logical/xor.hpp"

#include "tests/op/logical.hpp"

namespace tenon {

TEST_CASE("Xor") {
  test::check_logical<op::Xor, op::Xor_1>([](bool x, bool y) { return x != y; });
}

}  // namespace tenon
