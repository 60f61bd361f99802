#include "tenon/op/math/parametric_softplus.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ParametricSoftplus: cases") {
  const auto softplus = [](double v) {
    return v > 0 ? v + std::log1p(std::exp(-v)) : std::log1p(std::exp(v));
  };
  const std::initializer_list<double> x = {1.5, 0, 1, -2, 0.25, 200, -20, INFINITY, -INFINITY, NAN};
  check_real_function(op::ParametricSoftplus{}, softplus, x);
  check_real_function(
      op::ParametricSoftplus{.alpha = 2, .beta = -0.5f}, [&](double v) { return 2 * softplus(-v / 2); }, x);
  check(stated<op::ParametricSoftplus>(1, {{"alpha", 2.0f}}), {t<float>({1}, {0})},
        {t<float>({1}, {1.3862944f})});
}
}  // namespace tenon
