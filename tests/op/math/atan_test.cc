#include "tenon/op/math/atan.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Atan: cases") {
  check_real_function(op::Atan{}, [](double x) { return std::atan(x); },
                      {0.5, 0, 1, -2, 1e-6, -1000, 1e30, INFINITY, -INFINITY, NAN});
}
}  // namespace tenon
