#include "tenon/op/reduction/arg_min.hpp"

#include "tests/op/reduction.hpp"

namespace tenon {

TEST_CASE("ArgMin") { test::check_arg_extremum<op::ArgMin>(false); }

}  // namespace tenon
