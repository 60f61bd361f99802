#include "tenon/op/math/sqrt.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Sqrt: cases") {
  const std::initializer_list<double> x = {0.25, 0, 2, 9, -1, INFINITY, NAN};
  const std::initializer_list<double> y = {0.5, 0, 1.4142135623730951, 3, NAN, INFINITY, NAN};
  check_unary<float, double, float16, bfloat16>(op::Sqrt{}, x, y);
  check_unary<float, double, float16>(op::Sqrt{}, x, y, 1);
  check_fails(op::Sqrt{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 1);
  check_fails(stated<op::Sqrt>(1), {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)");
  check_consumed_inputs<op::Sqrt>({t<float>({2}, {9, 2})}, t<float>({2}, {3, 1.4142135f}));
  check_fails(op::Sqrt{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 12);
  check_fails(op::Sqrt{}, {t<bool>({1}, {true})}, "cannot be tensor(bool)");
}

TEST_CASE("Sqrt: typed") {
  const auto y = op::Sqrt{}(Tensor<double, Shape<2>>{0.5, 1});
  static_assert(std::is_same_v<decltype(y), const Tensor<double, Shape<2>>>);
  CHECK(y[1] == doctest::Approx(1));
}
}  // namespace tenon
