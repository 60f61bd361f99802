#include "tenon/op/math/selu.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Selu: cases") {
  const auto selu = [](double alpha, double gamma) {
    return [=](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); };
  };
  const std::initializer_list<double> x = {-0.5, 0,    1,     -2,       -1e-6,     20,
                                           -20,  1000, -1000, INFINITY, -INFINITY, NAN};
  check_real_function(op::Selu{}, selu(op::Selu{}.alpha, op::Selu{}.gamma), x);
  check_real_function(op::Selu{.alpha = 2, .gamma = -0.5f}, selu(2, -0.5), x);
  check(stated<op::Selu>(6, {{"alpha", 2.0f}, {"gamma", 3.0f}}), {t<float>({2}, {1, -1})},
        {t<float>({2}, {3, -3.7927234f})});
  // Version 1 has other defaults.
  const Value both = t<double>({2}, {1, -1});
  const auto by_default = [](double alpha, double gamma) {
    return t<double>({2}, {gamma, gamma * alpha * std::expm1(-1.0)});
  };
  check(stated<op::Selu>(1), {both}, {by_default(1.6732f, 1.0507f)}, 1e-12);
  check(stated<op::Selu>(1, {{"gamma", 3.0f}, {"consumed_inputs", ints{0}}}), {both},
        {by_default(1.6732f, 3)}, 1e-12);
  for (int version : {6, 22})
    check(stated<op::Selu>(version), {both},
          {by_default(1.67326319217681884765625, 1.05070102214813232421875)}, 1e-12);
  check_refused<op::Selu>(6, {{"consumed_inputs", ints{0}}}, "has no attribute 'consumed_inputs'");
}
}  // namespace tenon
