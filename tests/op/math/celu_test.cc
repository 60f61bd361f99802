#include "tenon/op/math/celu.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Celu: cases") {
  const auto celu = [](double alpha) {
    return [alpha](double x) {
      return std::isnan(x)
                 ? x
                 : std::fmax(0.0, x) + std::fmin(0.0, alpha * std::expm1(std::fmin(x, 0.0) / alpha));
    };
  };
  const std::initializer_list<double> x = {-0.5, 0,    1,     -2,       -1e-6,     20,
                                           -20,  1000, -1000, INFINITY, -INFINITY, NAN};
  for (float alpha : {1.0f, 0.25f, 3.0f, -2.0f})
    check_real_function(op::Celu{.alpha = alpha}, celu(alpha), x);
  check_real_function(op::Celu{}, celu(1), x);
  check(stated<op::Celu>(12, {{"alpha", 2.0f}}), {t<float>({2}, {1.5, -2})},
        {t<float>({2}, {1.5, -1.2642411f})});
  CHECK(apply<op::Celu{.alpha = 2}>(-2.0f).item() == doctest::Approx(-1.2642411));
}
}  // namespace tenon
