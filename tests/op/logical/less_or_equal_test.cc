#include "tenon/op/logical/less_or_equal.hpp"

#include "tests/op/order.hpp"

namespace tenon {

TEST_CASE("LessOrEqual") { test::check_order<op::LessOrEqual>(true, true, false); }

}  // namespace tenon
