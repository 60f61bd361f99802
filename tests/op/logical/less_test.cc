#include "tenon/op/logical/less.hpp"

#include "tests/op/order.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Less: cases") { check_order<op::Less>(true, false, false); }

TEST_CASE("Less: version 1 aligns B by axis") {
  check_legacy<float, bool>(
      op::Less_1{}, [](Opt<int64_t> axis) { return op::Less_1{.axis = axis, .broadcast = 1}; },
      {true, false, false, false}, {false, true, false, false}, {false, false, false, false});
  check_fails(op::Less_1{}, {t<int32_t>({1}, {1}), t<int32_t>({1}, {1})}, "cannot be tensor(int32)");
}

}  // namespace tenon
