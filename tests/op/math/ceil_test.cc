#include "tenon/op/math/ceil.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Ceil: cases") {
  check_real_function(op::Ceil{}, [](double x) { return std::ceil(x); },
                      {1.25, 0, -1.25, 2.5, 3.5, -2.5, 0.5, -0.5, 0.25, -0.75, 4, 8388609, -3e9, 1e30,
                       INFINITY, -INFINITY, NAN});
  const Value zeros = run(op::Ceil{}, {t<float>({2}, {-0.0f, -0.75f})})[0];
  for (float zero : zeros.view<float>()) CHECK((zero == 0 && std::signbit(zero)));
  check_consumed_inputs<op::Ceil>({t<float>({2}, {1.25, -1.5})}, t<float>({2}, {2, -1}));
}
}  // namespace tenon
