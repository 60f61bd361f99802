#include "tenon/op/math/exp.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Exp: cases") {
  check_real_function(op::Exp{}, [](double x) { return std::exp(x); },
                      {0.5, 0, 1, -2, 5.5, INFINITY, -INFINITY, NAN});
  check_consumed_inputs<op::Exp>({t<float>({2}, {0, 1})}, t<float>({2}, {1, 2.7182818f}));
}
}  // namespace tenon
