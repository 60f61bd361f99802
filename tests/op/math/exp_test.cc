#include "tenon/op/math/exp.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Exp: cases") {
  const std::initializer_list<double> x = {0.5, 0, 1, -2, 5.5, INFINITY, -INFINITY, NAN};
  const std::initializer_list<double> y = {
      1.6487212707001282, 1, 2.718281828459045, 0.1353352832366127, 244.69193226422038, INFINITY, 0, NAN};
  check_unary<float, double, float16, bfloat16>(op::Exp{}, x, y);
  check_unary<float, double, float16>(op::Exp{}, x, y, 1);
  check_fails(op::Exp{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 1);
  check_fails(stated<op::Exp>(1), {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)");
  check_consumed_inputs<op::Exp>({t<float>({2}, {0, 1})}, t<float>({2}, {1, 2.7182818f}));
  check_fails(op::Exp{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 12);
  check_fails(op::Exp{}, {t<bool>({1}, {true})}, "cannot be tensor(bool)");
}

TEST_CASE("Exp: typed") {
  const auto y = op::Exp{}(Tensor<double, Shape<2>>{0.5, 1});
  static_assert(std::is_same_v<decltype(y), const Tensor<double, Shape<2>>>);
  CHECK(y[1] == doctest::Approx(2.718281828459045));
}
}  // namespace tenon
