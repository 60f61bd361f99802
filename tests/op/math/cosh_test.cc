#include "tenon/op/math/cosh.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Cosh: cases") {
  check_real_function(op::Cosh{}, [](double x) { return std::cosh(x); },
                      {0.5, 0, 1, -2, 1e-6, 10, -80, 88, 100, -1000, INFINITY, -INFINITY, NAN});
}
}  // namespace tenon
