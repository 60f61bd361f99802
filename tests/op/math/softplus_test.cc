#include "tenon/op/math/softplus.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Softplus: cases") {
  const auto softplus = [](double x) {
    return std::isnan(x) ? x : std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
  };
  check_real_function(op::Softplus{}, softplus,
                      {0.5, 0, 1, -2, 1e-6, 20, -20, 100, -100, 1000, -1000, INFINITY, -INFINITY, NAN});
  check(stated<op::Softplus>(1), {t<float>({}, {0})}, {t<float>({}, {0.6931472f})});
  check_refused<op::Softplus>(1, {{"consumed_inputs", ints{0}}}, "has no attribute 'consumed_inputs'");
}
}  // namespace tenon
