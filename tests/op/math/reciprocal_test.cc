#include "tenon/op/math/reciprocal.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Reciprocal: cases") {
  check_real_function(op::Reciprocal{}, [](double x) { return 1 / x; },
                      {4, -2, 0.5, 0, -0.0, INFINITY, -INFINITY, NAN});
  check_consumed_inputs<op::Reciprocal>({t<float>({2}, {4, -2})}, t<float>({2}, {0.25, -0.5}));
}
}  // namespace tenon
