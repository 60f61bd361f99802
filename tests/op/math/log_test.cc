#include "tenon/op/math/log.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Log: cases") {
  const std::initializer_list<double> x = {0.5, 1, 3, 96, 0, -1, INFINITY, NAN};
  const std::initializer_list<double> y = {-0.6931471805599453, 0,   1.0986122886681098, 4.564348191467836,
                                           -INFINITY,           NAN, INFINITY,           NAN};
  check_unary<float, double, float16, bfloat16>(op::Log{}, x, y);
  check_unary<float, double, float16>(op::Log{}, x, y, 1);
  check_fails(op::Log{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 1);
  check_fails(stated<op::Log>(1), {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)");
  check_consumed_inputs<op::Log>({t<float>({2}, {1, 3})}, t<float>({2}, {0, 1.0986123f}));
  check_fails(op::Log{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 12);
  check_fails(op::Log{}, {t<bool>({1}, {true})}, "cannot be tensor(bool)");
}

TEST_CASE("Log: typed") {
  const auto y = op::Log{}(Tensor<double, Shape<2>>{0.5, 1});
  static_assert(std::is_same_v<decltype(y), const Tensor<double, Shape<2>>>);
  CHECK(y[1] == doctest::Approx(0));
}
}  // namespace tenon
