#include "tenon/op/math/atanh.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Atanh: cases") {
  check_real_function(op::Atanh{}, [](double x) { return std::atanh(x); },
                      {0.5, 0, 1, -1, -0.99, 1e-6, 1.01, -2, INFINITY, -INFINITY, NAN});
}
}  // namespace tenon
