#include "tenon/op/math/sigmoid.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Sigmoid: cases") {
  const std::initializer_list<double> x = {0.5, 0, -1, 3.5, -6, INFINITY, -INFINITY, NAN};
  const std::initializer_list<double> y = {
      0.6224593312018546, 0.5, 0.2689414213699951, 0.9706877692486436, 0.0024726231566347743, 1, 0, NAN};
  check_unary<float, double, float16, bfloat16>(op::Sigmoid{}, x, y);
  check_unary<float, double, float16>(op::Sigmoid{}, x, y, 1);
  check_fails(op::Sigmoid{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 1);
  check_fails(stated<op::Sigmoid>(1), {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)");
  check_consumed_inputs<op::Sigmoid>({t<float>({2}, {0, -1})}, t<float>({2}, {0.5, 0.26894143f}));
  check_fails(op::Sigmoid{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 12);
  check_fails(op::Sigmoid{}, {t<bool>({1}, {true})}, "cannot be tensor(bool)");
}

TEST_CASE("Sigmoid: typed") {
  const auto y = op::Sigmoid{}(Tensor<double, Shape<2>>{0.5, 1});
  static_assert(std::is_same_v<decltype(y), const Tensor<double, Shape<2>>>);
  CHECK(y[1] == doctest::Approx(0.7310585786300049));
}
}  // namespace tenon
