#include "tenon/op/math/erf.hpp"

#include "tests/op/elementwise.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Erf: cases") {
  const std::initializer_list<double> x = {0.5, 0, -1, 1.5, 4, INFINITY, -INFINITY, NAN};
  const std::initializer_list<double> y = {
      0.5204998778130465, 0, -0.8427007929497149, 0.9661051464753108, 0.9999999845827421, 1, -1, NAN};
  check_unary<float, double, float16, bfloat16>(op::Erf{}, x, y);
  check_fails(op::Erf{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 12);
  check_fails(op::Erf{}, {t<bool>({1}, {true})}, "cannot be tensor(bool)");
}

TEST_CASE("Erf: version 9 takes integers") {
  check(op::Erf{}, {t<int32_t>({5}, {-6, -1, 0, 5, 6})}, {t<int32_t>({5}, {-1, 0, 0, 0, 1})}, 0, 0, 9);
  check(op::Erf{}, {t<uint8_t>({2}, {0, 200})}, {t<uint8_t>({2}, {0, 1})}, 0, 0, 9);
  check_fails(op::Erf{}, {t<int32_t>({1}, {1})}, "cannot be tensor(int32)");
}

TEST_CASE("Erf: typed") {
  const auto y = op::Erf{}(Tensor<double, Shape<2>>{0.5, 1});
  static_assert(std::is_same_v<decltype(y), const Tensor<double, Shape<2>>>);
  CHECK(y[1] == doctest::Approx(0.8427007929497149));
}
}  // namespace tenon
