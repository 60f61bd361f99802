#include "tenon/op/math/leaky_relu.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("LeakyRelu: cases") {
  for (float alpha : {0.01f, 0.25f, 2.0f, -1.0f})
    check_real_function(op::LeakyRelu{.alpha = alpha}, [alpha](double x) { return x < 0 ? alpha * x : x; },
                        {1.5, 0, -2, INFINITY, -INFINITY, NAN});
  for (int version : {1, 6, 16})
    check(stated<op::LeakyRelu>(version, {{"alpha", 0.25f}}), {t<float>({2}, {-2, 3})},
          {t<float>({2}, {-0.5, 3})});
  check_consumed_inputs<op::LeakyRelu>({t<float>({2}, {-2, 3})}, t<float>({2}, {-0.02f, 3}));
}
}  // namespace tenon
