#include "tenon/op/math/sinh.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Sinh: cases") {
  check_real_function(op::Sinh{}, [](double x) { return std::sinh(x); },
                      {0.5, 0, 1, -2, 1e-6, 10, -80, 88, 100, -1000, INFINITY, -INFINITY, NAN});
}
}  // namespace tenon
