#include "tenon/op/math/mish.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Mish: cases") {
  const auto mish = [](double x) {
    return x * std::tanh(std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))));
  };
  check_real_function(op::Mish{}, mish,
                      {0.5, 0, 1, -2, 1e-6, 20, -20, 100, -100, 1000, INFINITY, -INFINITY, NAN});
}
}  // namespace tenon
