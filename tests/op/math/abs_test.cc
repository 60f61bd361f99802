#include "tenon/op/math/abs.hpp"

#include "tests/op/elementwise.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Abs: cases") {
  const std::initializer_list<double> x = {1.5, 0, -2, -INFINITY, NAN}, y = {1.5, 0, 2, INFINITY, NAN};
  check_unary<float, double, float16, bfloat16>(op::Abs{}, x, y);
  check_unary<float, double, float16>(op::Abs{}, x, y, 1);
  CHECK_FALSE(std::signbit(run(op::Abs{}, {t<float>({}, {-0.0f})})[0].view<float>().item()));
  check(op::Abs{}, {t<int8_t>({3}, {-128, -1, 5})}, {t<int8_t>({3}, {-128, 1, 5})});
  check(op::Abs{}, {t<int16_t>({1}, {-300})}, {t<int16_t>({1}, {300})});
  check(op::Abs{}, {t<int32_t>({2}, {INT32_MIN, -7})}, {t<int32_t>({2}, {INT32_MIN, 7})});
  check(op::Abs{}, {t<int64_t>({1}, {-5})}, {t<int64_t>({1}, {5})});
  check(op::Abs{}, {t<uint8_t>({1}, {200})}, {t<uint8_t>({1}, {200})});
  check(op::Abs{}, {t<uint64_t>({1}, {UINT64_MAX})}, {t<uint64_t>({1}, {UINT64_MAX})});
  check_fails(op::Abs{}, {cast<bfloat16>({1}, {1})}, "cannot be tensor(bfloat16)", 1, 6);
  check_fails(op::Abs{}, {t<int32_t>({1}, {1})}, "cannot be tensor(int32)", 1, 1);
  check(op::Abs{}, {t<int32_t>({1}, {-7})}, {t<int32_t>({1}, {7})}, 0, 0, 6);
  check_consumed_inputs<op::Abs>({t<float>({2}, {1.5, -2})}, t<float>({2}, {1.5, 2}));
}

TEST_CASE("Abs: shape arithmetic and typed calls") {
  const auto n = Dim::symbol(1);
  const auto out = infer(op::Abs{}, {info(DType::int64, {3}, {-5, 4, n})});
  CHECK(out[0].propagated[0].is(5));
  CHECK(out[0].propagated[1].is(4));
  CHECK(out[0].propagated[2].same(n));
  CHECK(op::Abs{}(-2.5f).item() == 2.5f);
}
}  // namespace tenon
