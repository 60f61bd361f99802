#include "tenon/op/math/gelu.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Gelu: cases") {
  const std::initializer_list<double> x = {0.5, 0, -1, 3, -0.5};
  const std::initializer_list<double> exact = {0.34573123063700656, 0.0, -0.15865525393145707,
                                               2.99595030590511, -0.15426876936299344};
  const std::initializer_list<double> tanh = {0.34571400982514394, 0.0, -0.15880800939172324,
                                              2.996362607918227, -0.15428599017485606};
  check_unary<float, double, float16, bfloat16>(op::Gelu{}, x, exact);
  check_unary<float, double, float16, bfloat16>(op::Gelu{.approximate = "tanh"}, x, tanh);
  check_unary<float>(op::Gelu{}, {INFINITY, NAN}, {INFINITY, NAN});
  check_fails(op::Gelu{.approximate = "erf"}, {t<float>({1}, {1})},
              "approximate: 'erf', expected none or tanh");
}

TEST_CASE("Gelu: typed") {
  const auto y = apply<op::Gelu{.approximate = "tanh"}>(Tensor<float, Shape<2>>{-1, 0.5f});
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2>>>);
  CHECK(y[1] == doctest::Approx(0.34571400982514394));
}
}  // namespace tenon
