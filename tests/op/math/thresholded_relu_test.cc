#include "tenon/op/math/thresholded_relu.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ThresholdedRelu: cases") {
  const auto above = [](double alpha) { return [alpha](double x) { return x > alpha ? x : 0; }; };
  const std::initializer_list<double> x = {1.5, 0, 1, -2, 0.25, 0.5, 20, -20, INFINITY, -INFINITY, NAN};
  for (float alpha : {1.0f, 0.25f, -2.0f, 0.0f})
    check_real_function(op::ThresholdedRelu{.alpha = alpha}, above(alpha), x);
  check_real_function(op::ThresholdedRelu{}, above(1), x);
  for (int version : {1, 10, 22})
    check(stated<op::ThresholdedRelu>(version, {{"alpha", 2.0f}}), {t<float>({3}, {1, 2, 3})},
          {t<float>({3}, {0, 0, 3})});
  check_refused<op::ThresholdedRelu>(10, {{"consumed_inputs", ints{0}}},
                                     "has no attribute 'consumed_inputs'");
}
}  // namespace tenon
