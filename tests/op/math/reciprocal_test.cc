#include "tenon/op/math/reciprocal.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Reciprocal: cases") {
  const std::initializer_list<double> x = {4, -2, 0.5, 0, -0.0, INFINITY, -INFINITY, NAN};
  const std::initializer_list<double> y = {0.25, -0.5, 2, INFINITY, -INFINITY, 0, -0.0, NAN};
  check_unary<float, double, float16, bfloat16>(op::Reciprocal{}, x, y);
  check_unary<float, double, float16>(op::Reciprocal{}, x, y, 1);
  check_consumed_inputs<op::Reciprocal>({t<float>({2}, {4, -2})}, t<float>({2}, {0.25, -0.5}));
  check_fails(op::Reciprocal{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 6);
  check_fails(op::Reciprocal{}, {t<int32_t>({1}, {1})}, "cannot be tensor(int32)");
}

TEST_CASE("Reciprocal: typed") {
  const auto y = op::Reciprocal{}(Tensor<double, Shape<2>>{0.5, 4});
  static_assert(std::is_same_v<decltype(y), const Tensor<double, Shape<2>>>);
  CHECK(y[1] == 0.25);
}
}  // namespace tenon
