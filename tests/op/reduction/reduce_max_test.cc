#include "tenon/op/reduction/reduce_max.hpp"

#include "tests/op/reduction.hpp"

namespace tenon {

TEST_CASE("ReduceMax") {
  test::check_extremum<op::ReduceMax>([](auto x, auto y) { return x > y ? x : y; });
}

}  // namespace tenon
