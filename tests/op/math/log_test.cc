#include "tenon/op/math/log.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Log: cases") {
  check_real_function(op::Log{}, [](double x) { return std::log(x); }, {0.5, 1, 3, 96, 0, -1, INFINITY, NAN});
  check_consumed_inputs<op::Log>({t<float>({2}, {1, 3})}, t<float>({2}, {0, 1.0986123f}));
}
}  // namespace tenon
