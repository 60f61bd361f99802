#include "tenon/op/math/asin.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Asin: cases") {
  check_real_function(op::Asin{}, [](double x) { return std::asin(x); },
                      {0.5, 0, 1, -1, -0.99, 1e-6, 1.01, -2, INFINITY, -INFINITY, NAN});
}
}  // namespace tenon
