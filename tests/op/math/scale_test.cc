#include "tenon/op/math/scale.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Scale: cases") {
  const std::initializer_list<double> x = {1.5, 0, 1, -2, 0.25, INFINITY, -INFINITY, NAN};
  check_real_function(op::Scale{.scale = -3}, [](double v) { return -3 * v; }, x);
  check_real_function(op::Scale{}, [](double v) { return v; }, x);
  check(stated<op::Scale>(1, {{"scale", 2.0f}}), {t<double>({2}, {1, 2})}, {t<double>({2}, {2, 4})});
  CHECK((op::Scale{.scale = 2}(3.0f).item() == 6));
}
}  // namespace tenon
