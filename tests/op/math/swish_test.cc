#include "tenon/op/math/swish.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Swish: cases") {
  const auto swish = [](double alpha) {
    return [alpha](double x) {
      return x * (alpha * x < 0 ? std::exp(alpha * x) / (1 + std::exp(alpha * x))
                                : 1 / (1 + std::exp(-alpha * x)));
    };
  };
  const std::initializer_list<double> x = {-0.5, 0, 1, -2, 1e-6, 20, -20, 1000, INFINITY, -INFINITY, NAN};
  for (float alpha : {1.0f, 0.5f, -2.0f, 0.0f})
    check_real_function(op::Swish{.alpha = alpha}, swish(alpha), x);
  check_real_function(op::Swish{}, swish(1), x);
  check(stated<op::Swish>(24, {{"alpha", 2.0f}}), {t<float>({}, {1})}, {t<float>({}, {0.8807971f})});
}
}  // namespace tenon
