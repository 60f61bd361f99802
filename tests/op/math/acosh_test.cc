#include "tenon/op/math/acosh.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Acosh: cases") {
  check_real_function(op::Acosh{}, [](double x) { return std::acosh(x); },
                      {1.5, 1, 2, 1.001, 1000, 1e30, 0.99, 0, -2, INFINITY, -INFINITY, NAN});
}
}  // namespace tenon
