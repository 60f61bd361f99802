#include "tenon/op/math/sigmoid.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Sigmoid: cases") {
  check_real_function(op::Sigmoid{}, [](double x) { return 1 / (1 + std::exp(-x)); },
                      {0.5, 0, -1, 3.5, -6, INFINITY, -INFINITY, NAN});
  check_consumed_inputs<op::Sigmoid>({t<float>({2}, {0, -1})}, t<float>({2}, {0.5, 0.26894143f}));
}
}  // namespace tenon
