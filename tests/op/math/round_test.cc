#include "tenon/op/math/round.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Round: cases") {
  check_real_function(op::Round{}, [](double x) { return std::nearbyint(x); },
                      {1.25, 0, -1.25, 2.5, 3.5, -2.5, 0.5, -0.5, 0.25, -0.75, 4, 8388609, -3e9, 1e30,
                       INFINITY, -INFINITY, NAN});
  const Value zeros = run(op::Round{}, {t<float>({2}, {-0.0f, -0.5f})})[0];
  for (float zero : zeros.view<float>()) CHECK((zero == 0 && std::signbit(zero)));
}
}  // namespace tenon
