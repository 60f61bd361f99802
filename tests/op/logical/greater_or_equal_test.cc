#include "tenon/op/logical/greater_or_equal.hpp"

#include "tests/op/order.hpp"

namespace tenon {

TEST_CASE("GreaterOrEqual") { test::check_order<op::GreaterOrEqual>(false, true, true); }

}  // namespace tenon
