#include "tenon/op/reduction/arg_max.hpp"

#include "tests/op/reduction.hpp"

namespace tenon {

TEST_CASE("ArgMax") { test::check_arg_extremum<op::ArgMax>(true); }

}  // namespace tenon
