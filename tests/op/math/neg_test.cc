#include "tenon/op/math/neg.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Neg: cases") {
  const std::initializer_list<double> x = {1.5, 0, -2, INFINITY, NAN}, y = {-1.5, 0, 2, -INFINITY, NAN};
  check_unary<float, double, float16, bfloat16>(op::Neg{}, x, y);
  check_unary<float, double, float16>(op::Neg{}, x, y, 1);
  CHECK(std::signbit(run(op::Neg{}, {t<float>({}, {0})})[0].view<float>().item()));
  check(op::Neg{}, {t<int8_t>({3}, {-128, 1, 0})}, {t<int8_t>({3}, {-128, -1, 0})});
  check(op::Neg{}, {t<int16_t>({1}, {300})}, {t<int16_t>({1}, {-300})});
  check(op::Neg{}, {t<int32_t>({1}, {INT32_MIN})}, {t<int32_t>({1}, {INT32_MIN})});
  check(op::Neg{}, {t<int64_t>({1}, {5})}, {t<int64_t>({1}, {-5})});
  check_fails(op::Neg{}, {t<uint8_t>({1}, {1})}, "cannot be tensor(uint8)");
  check_fails(op::Neg{}, {t<int32_t>({1}, {1})}, "cannot be tensor(int32)", 1, 1);
  check(op::Neg{}, {t<int32_t>({1}, {-7})}, {t<int32_t>({1}, {7})}, 0, 0, 6);
  check_consumed_inputs<op::Neg>({t<float>({2}, {1.5, -2})}, t<float>({2}, {-1.5, 2}));
}

TEST_CASE("Neg: shape arithmetic and typed calls") {
  const auto out = infer(op::Neg{}, {info(DType::int64, {2}, {5, Dim::symbol(1)})});
  CHECK(out[0].propagated[0].is(-5));
  CHECK_FALSE(out[0].propagated[1].known());
  const auto y = op::Neg{}(Tensor<int32_t, Shape<2>>{3, 4});
  static_assert(std::is_same_v<decltype(y), const Tensor<int32_t, Shape<2>>>);
  CHECK(y[1] == -4);
}
}  // namespace tenon
