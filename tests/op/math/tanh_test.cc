#include "tenon/op/math/tanh.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Tanh: cases") {
  check_real_function(op::Tanh{}, [](double x) { return std::tanh(x); },
                      {0.5, 0, -1, 3.5, -20, INFINITY, -INFINITY, NAN});
  check_consumed_inputs<op::Tanh>({t<float>({2}, {0, -1})}, t<float>({2}, {0, -0.76159416f}));
}
}  // namespace tenon
