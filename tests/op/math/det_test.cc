#include "tenon/op/math/det.hpp"

#include <cmath>

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Det: cases") {
  const float nan = std::nanf("");
  struct Row {
    Value in, out;
  } rows[] = {
      {t<float>({2, 2}, {0, 1, 2, 3}), t<float>({}, {-2})},
      {t<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), t<float>({2}, {-2, -2})},
      {t<double>({3, 3}, {2, 0, 1, 0, 3, 0, 1, 0, 2}), t<double>({}, {9})},
      {t<float>({2, 2}, {1, 2, 2, 4}), t<float>({}, {0})},
      {t<float>({1, 1}, {-7}), t<float>({}, {-7})},
      {t<float>({1, 0, 0}, {}), t<float>({1}, {1})},
      {t<float>({0, 2, 2}, {}), t<float>({0}, {})},
      {t<float>({0, int64_t{1} << 40, int64_t{1} << 40}, {}), t<float>({0}, {})},
      {t<float>({2, 2}, {nan, 1, 2, 3}), t<float>({}, {nan})},
      {t<float>({2, 2}, {0, 1, nan, 3}), t<float>({}, {nan})},
      {t<float>({3, 3}, {0, 1, 2, nan, 3, 4, 5, 6, 7}), t<float>({}, {nan})},
      {cast<float16>({2, 2}, {1, 2, 3, 4}), cast<float16>({}, {-2})},
  };
  for (const Row& row : rows)
    for (int version : {11, 22}) check(op::Det{}, {row.in}, {row.out}, 1e-6, 1e-6, version);
  check(op::Det{}, {cast<bfloat16>({2, 2}, {1, 2, 3, 4})}, {cast<bfloat16>({}, {-2})});
}

TEST_CASE("Det: errors, symbols, typed") {
  check_fails(op::Det{}, {t<float>({2}, {1, 2})}, "X: rank 1, expected at least 2");
  check_fails(op::Det{}, {t<float>({2, 1}, {1, 2})}, "extents of matrices differ: 2 and 1");
  const auto n = Dim::symbol(1);
  CHECK(infer(op::Det{}, {info(DType::float32, {n, 4, 3, Dim()})})[0].dims == Dims{n, 4});
  CHECK_FALSE(infer(op::Det{}, {info(DType::float32, {})})[0].dims.ranked());
  auto y = apply<op::Det{}>(Tensor<float, Shape<2, 2>>{{{1, 2}, {3, 4}}});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<>>>);
  CHECK(y.item() == doctest::Approx(-2));
}
}  // namespace tenon
