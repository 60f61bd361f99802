#include "tenon/op/math/scaled_tanh.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ScaledTanh: cases") {
  const std::initializer_list<double> x = {1.5, 0, 1, -2, 0.25, 20, -20, INFINITY, -INFINITY, NAN};
  check_real_function(op::ScaledTanh{}, [](double v) { return std::tanh(v); }, x);
  check_real_function(
      op::ScaledTanh{.alpha = 2, .beta = 0.5f}, [](double v) { return 2 * std::tanh(v / 2); }, x);
  check(stated<op::ScaledTanh>(1, {{"alpha", 2.0f}}), {t<float>({2}, {0, 1})},
        {t<float>({2}, {0, 1.5231884f})});
}
}  // namespace tenon
