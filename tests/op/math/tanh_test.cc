#include "tenon/op/math/tanh.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Tanh: cases") {
  const std::initializer_list<double> x = {0.5, 0, -1, 3.5, -20, INFINITY, -INFINITY, NAN};
  const std::initializer_list<double> y = {
      0.46211715726000974, 0, -0.7615941559557649, 0.9981778976111987, -1, 1, -1, NAN};
  check_unary<float, double, float16, bfloat16>(op::Tanh{}, x, y);
  check_unary<float, double, float16>(op::Tanh{}, x, y, 1);
  check_fails(op::Tanh{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 1);
  check_fails(stated<op::Tanh>(1), {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)");
  check_consumed_inputs<op::Tanh>({t<float>({2}, {0, -1})}, t<float>({2}, {0, -0.76159416f}));
  check_fails(op::Tanh{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 12);
  check_fails(op::Tanh{}, {t<bool>({1}, {true})}, "cannot be tensor(bool)");
}

TEST_CASE("Tanh: typed") {
  const auto y = op::Tanh{}(Tensor<double, Shape<2>>{0.5, 1});
  static_assert(std::is_same_v<decltype(y), const Tensor<double, Shape<2>>>);
  CHECK(y[1] == doctest::Approx(0.7615941559557649));
}
}  // namespace tenon
