#include "tenon/op/math/tan.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Tan: cases") {
  check_real_function(
      op::Tan{}, [](double x) { return std::tan(x); },
      {0.5, 0, 1, -2, 1e-6, 3.14159265, -1.57079633, 100, -5000, 1e6, 1e30, INFINITY, -INFINITY, NAN});
}
}  // namespace tenon
