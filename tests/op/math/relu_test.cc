#include "tenon/op/math/relu.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Relu: cases") {
  const std::initializer_list<double> x = {1.5, 0, -2, INFINITY, -INFINITY, NAN};
  const std::initializer_list<double> y = {1.5, 0, 0, INFINITY, 0, NAN};
  check_unary<float, double, float16, bfloat16>(op::Relu{}, x, y);
  check_unary<float, double, float16>(op::Relu{}, x, y, 1);
  check(op::Relu{}, {t<int8_t>({3}, {-128, 1, 0})}, {t<int8_t>({3}, {0, 1, 0})});
  check(op::Relu{}, {t<int16_t>({2}, {300, -300})}, {t<int16_t>({2}, {300, 0})});
  check(op::Relu{}, {t<int32_t>({2}, {7, -7})}, {t<int32_t>({2}, {7, 0})});
  check(op::Relu{}, {t<int64_t>({2}, {7, INT64_MIN})}, {t<int64_t>({2}, {7, 0})});
  check_fails(op::Relu{}, {t<int32_t>({1}, {1})}, "cannot be tensor(int32)", 1, 13);
  check_fails(op::Relu{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 6);
  check_fails(op::Relu{}, {t<int32_t>({1}, {1})}, "cannot be tensor(int32)", 1, 1);
  check_consumed_inputs<op::Relu>({t<float>({2}, {1.5, -2})}, t<float>({2}, {1.5, 0}));
  check_fails(op::Relu{}, {t<uint8_t>({1}, {1})}, "cannot be tensor(uint8)");
}

TEST_CASE("Relu: symbols and typed calls") {
  const auto out = infer(op::Relu{}, {info(DType::float32, {Dim::symbol(1), 3})});
  CHECK(out[0].dims == Dims{Dim::symbol(1), 3});
  CHECK_FALSE(infer(op::Relu{}, {info(DType::float32, {})}).at(0).dims.rank() > 0);
  const auto y = op::Relu{}(Tensor<float, Shape<2>>{-1, 4});
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<2>>>);
  CHECK(y[0] == 0);
}
}  // namespace tenon
