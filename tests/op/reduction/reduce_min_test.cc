#include "tenon/op/reduction/reduce_min.hpp"

#include "tests/op/reduction.hpp"

namespace tenon {

TEST_CASE("ReduceMin") {
  test::check_extremum<op::ReduceMin>([](auto x, auto y) { return x < y ? x : y; });
}

}  // namespace tenon
