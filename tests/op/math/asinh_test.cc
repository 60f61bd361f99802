#include "tenon/op/math/asinh.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Asinh: cases") {
  check_real_function(op::Asinh{}, [](double x) { return std::asinh(x); },
                      {0.5, 0, 1, -2, 1e-6, -1000, 1e30, INFINITY, -INFINITY, NAN});
}
}  // namespace tenon
