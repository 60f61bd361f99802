#include "tenon/op/math/acos.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Acos: cases") {
  check_real_function(op::Acos{}, [](double x) { return std::acos(x); },
                      {0.5, 0, 1, -1, -0.99, 1e-6, 1.01, -2, INFINITY, -INFINITY, NAN});
}
}  // namespace tenon
