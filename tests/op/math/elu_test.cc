#include "tenon/op/math/elu.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Elu: cases") {
  const auto elu = [](double alpha) {
    return [alpha](double x) { return x < 0 ? alpha * std::expm1(x) : x; };
  };
  const std::initializer_list<double> x = {-0.5, 0,    1,     -2,       -1e-6,     20,
                                           -20,  1000, -1000, INFINITY, -INFINITY, NAN};
  for (float alpha : {1.0f, 0.25f, -2.0f, 0.0f}) check_real_function(op::Elu{.alpha = alpha}, elu(alpha), x);
  check_real_function(op::Elu{}, elu(1), x);
  check_consumed_inputs<op::Elu>({t<float>({2}, {1.5, -1})}, t<float>({2}, {1.5, -0.63212056f}));
  check(stated<op::Elu>(1, {{"alpha", 2.0f}}), {t<float>({2}, {1.5, -1})},
        {t<float>({2}, {1.5, -1.2642411f})});
  CHECK(apply<op::Elu{.alpha = 2}>(-1.0f).item() == doctest::Approx(-1.2642411));
}
}  // namespace tenon
