#include "tenon/op/traditionalml/binarizer.hpp"

#include <cmath>

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Binarizer: cases") {
  const float nan = std::nanf(""), inf = INFINITY;
  struct Row {
    float threshold;
    Value x, y;
  } rows[] = {
      {0, t<float>({2, 2}, {-1, 0, 0.5f, nan}), t<float>({2, 2}, {0, 0, 1, 0})},
      {1.5f, t<double>({3}, {1, 1.5, 2}), t<double>({3}, {0, 0, 1})},
      {1.5f, t<int32_t>({3}, {1, 2, -3}), t<int32_t>({3}, {0, 1, 0})},
      {-1.5f, t<int64_t>({3}, {-1, -2, INT64_MIN}), t<int64_t>({3}, {1, 0, 0})},
      {2, t<int64_t>({2}, {2, INT64_MAX}), t<int64_t>({2}, {0, 1})},
      {inf, t<int32_t>({1}, {INT32_MAX}), t<int32_t>({1}, {0})},
      {1e30f, t<int64_t>({1}, {INT64_MAX}), t<int64_t>({1}, {0})},
      {-1e30f, t<int64_t>({1}, {INT64_MIN}), t<int64_t>({1}, {1})},
      {0x1p31f, t<int32_t>({1}, {INT32_MAX}), t<int32_t>({1}, {0})},
      {-0x1p31f, t<int32_t>({2}, {INT32_MIN, INT32_MIN + 1}), t<int32_t>({2}, {0, 1})},
      {nan, t<int32_t>({2}, {INT32_MIN, 5}), t<int32_t>({2}, {0, 0})},
      {nan, t<float>({1}, {5}), t<float>({1}, {0})},
      {0, t<float>({}, {3}), t<float>({}, {1})},
      {0, t<float>({0, 3}, {}), t<float>({0, 3}, {})},
  };
  for (const Row& row : rows) check(op::Binarizer{.threshold = row.threshold}, {row.x}, {row.y}, 0, 0);
  check_fails(op::Binarizer{}, {t<uint8_t>({1}, {1})}, "X cannot be tensor(uint8)");
}

TEST_CASE("Binarizer: symbols, typed") {
  const Dims x{Dim::symbol(1), 3};
  CHECK(infer(op::Binarizer{}, {info(DType::float32, x)})[0].dims == x);
  const auto y = apply<op::Binarizer{.threshold = 2}>(Tensor<int32_t, Shape<3>>{1, 2, 3});
  CHECK(y(2) == 1);
  CHECK(y(1) == 0);
}
}  // namespace tenon
