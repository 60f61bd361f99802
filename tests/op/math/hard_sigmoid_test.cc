#include "tenon/op/math/hard_sigmoid.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("HardSigmoid: cases") {
  const std::initializer_list<double> x = {0.5, 0, -4, 4, INFINITY, -INFINITY, NAN};
  const std::initializer_list<double> by_default = {0.6, 0.5, 0, 1, 1, 0, NAN};
  const std::initializer_list<double> chosen = {0.625, 0.5, 0, 1, 1, 0, NAN};
  check_unary<float, float16, bfloat16>(op::HardSigmoid{}, x, by_default);
  check_unary<float, double, float16, bfloat16>(op::HardSigmoid{.alpha = 0.25f}, x, chosen);
  check_unary<float>(op::HardSigmoid{.alpha = 0.25f, .beta = 0.25f}, {1, -0.5}, {0.5, 0.125});
  check_unary<float, double, float16>(op::HardSigmoid{.alpha = 0.25f}, x, chosen, 1);
  check_unary<float>(op::HardSigmoid{}, x, by_default, 1);
  for (int version : {1, 6, 22})
    check(stated<op::HardSigmoid>(version, {{"alpha", 0.25f}, {"beta", 0.25f}}), {t<float>({2}, {1, -0.5})},
          {t<float>({2}, {0.5, 0.125})});
  check_consumed_inputs<op::HardSigmoid>({t<float>({2}, {0.5, -4})}, t<float>({2}, {0.6f, 0}));
  check_fails(op::HardSigmoid{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 6);
}

TEST_CASE("HardSigmoid: typed") {
  const auto y = apply<op::HardSigmoid{.alpha = 0.5f}>(Tensor<float, Shape<2>>{-1, 0.25f});
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2>>>);
  CHECK(y[1] == 0.625f);
}
}  // namespace tenon
