#include "tenon/op/math/hard_swish.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("HardSwish: cases") {
  check_real_function(op::HardSwish{}, [](double x) { return x * std::fmax(0, std::fmin(1, x / 6 + 0.5)); },
                      {0.5, 0, -1, 2.5, -3.5, -4, 3, 5, INFINITY, -INFINITY, NAN});
}
}  // namespace tenon
