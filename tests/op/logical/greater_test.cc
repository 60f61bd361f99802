#include "tenon/op/logical/greater.hpp"

#include "tests/op/order.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Greater: cases") { check_order<op::Greater>(false, false, true); }

TEST_CASE("Greater: version 1 aligns B by axis") {
  check_legacy<float, bool>(
      op::Greater_1{}, [](Opt<int64_t> axis) { return op::Greater_1{.axis = axis, .broadcast = 1}; },
      {false, false, true, true}, {false, false, true, true}, {false, true, false, true});
  check_fails(op::Greater_1{}, {t<int32_t>({1}, {1}), t<int32_t>({1}, {1})}, "cannot be tensor(int32)");
}

}  // namespace tenon
