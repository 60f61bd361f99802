#include "tenon/op/math/hard_swish.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("HardSwish: cases") {
  const std::initializer_list<double> x = {0.5, 0, -1, 2.5, -3.5, -4, 3, 5, NAN};
  const std::initializer_list<double> y = {
      0.2916666666666667, 0, -0.33333333333333337, 2.291666666666667, -0, -0, 3, 5, NAN};
  check_unary<float, double, float16, bfloat16>(op::HardSwish{}, x, y);
  check_fails(op::HardSwish{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 21);
  check_fails(op::HardSwish{}, {t<bool>({1}, {true})}, "cannot be tensor(bool)");
}

TEST_CASE("HardSwish: typed") {
  const auto y = op::HardSwish{}(Tensor<double, Shape<2>>{0.5, 1});
  static_assert(std::is_same_v<decltype(y), const Tensor<double, Shape<2>>>);
  CHECK(y[1] == doctest::Approx(0.6666666666666666));
}
}  // namespace tenon
