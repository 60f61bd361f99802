#include "tenon/op/math/leaky_relu.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("LeakyRelu: cases") {
  const std::initializer_list<double> x = {1.5, 0, -2, INFINITY, -INFINITY, NAN};
  const std::initializer_list<double> by_default = {1.5, 0, -0.02, INFINITY, -INFINITY, NAN};
  const std::initializer_list<double> by_quarter = {1.5, 0, -0.5, INFINITY, -INFINITY, NAN};
  check_unary<float, float16, bfloat16>(op::LeakyRelu{}, x, by_default);
  check_unary<float, double, float16, bfloat16>(op::LeakyRelu{.alpha = 0.25f}, x, by_quarter);
  check_unary<float, double, float16>(op::LeakyRelu{.alpha = 0.25f}, x, by_quarter, 1);
  check_unary<float>(op::LeakyRelu{}, x, by_default, 1);
  for (int version : {1, 6, 16})
    check(stated<op::LeakyRelu>(version, {{"alpha", 0.25f}}), {t<float>({2}, {-2, 3})},
          {t<float>({2}, {-0.5, 3})});
  check_consumed_inputs<op::LeakyRelu>({t<float>({2}, {-2, 3})}, t<float>({2}, {-0.02f, 3}));
  check_unary<float>(op::LeakyRelu{.alpha = 2}, {-1, 1}, {-2, 1});
  check_fails(op::LeakyRelu{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 6);
  check_fails(op::LeakyRelu{}, {t<int32_t>({1}, {1})}, "cannot be tensor(int32)");
}

TEST_CASE("LeakyRelu: typed") {
  const auto y = apply<op::LeakyRelu{.alpha = 0.5f}>(Tensor<float, Shape<2>>{-1, 4});
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2>>>);
  CHECK(y[0] == -0.5f);
}
}  // namespace tenon
