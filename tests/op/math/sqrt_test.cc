#include "tenon/op/math/sqrt.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Sqrt: cases") {
  check_real_function(op::Sqrt{}, [](double x) { return std::sqrt(x); }, {0.25, 0, 2, 9, -1, INFINITY, NAN});
  check_consumed_inputs<op::Sqrt>({t<float>({2}, {9, 2})}, t<float>({2}, {3, 1.4142135f}));
}
}  // namespace tenon
