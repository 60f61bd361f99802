#include "tenon/op/traditionalml/scaler.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Scaler: cases") {
  using S = op::Scaler;
  struct Row {
    S op;
    Value x, y;
  } rows[] = {
      {{.offset = {1}, .scale = {2}}, t<float>({2, 2}, {1, 2, 3, 4}), t<float>({2, 2}, {0, 2, 4, 6})},
      {{.offset = {1, -1}, .scale = {2, 3}}, t<float>({2, 2}, {1, 2, 3, 4}), t<float>({2, 2}, {0, 9, 4, 15})},
      {{.offset = {1}}, t<double>({2}, {1, 1e300}), t<float>({2}, {0, INFINITY})},
      {{.scale = {0.5f, 2}}, t<int32_t>({1, 1, 2}, {3, 4}), t<float>({1, 1, 2}, {1.5f, 8})},
      {{.offset = {-1}, .scale = {1}}, t<int64_t>({1}, {INT64_MAX}), t<float>({1}, {0x1p63f})},
      {{}, t<int64_t>({2}, {3, -4}), t<float>({2}, {3, -4})},
      {{.offset = {1}, .scale = {2}}, t<float>({}, {3}), t<float>({}, {4})},
      {{.offset = {1}, .scale = {2}}, t<float>({0, 2}, {}), t<float>({0, 2}, {})},
  };
  for (const Row& row : rows) check(row.op, {row.x}, {row.y});
  const Value x = t<float>({1, 3}, {1, 2, 3});
  check_fails(S{.offset = {1, 2}, .scale = {1}}, {x}, "offset has 2 entries, scale has 1");
  check_fails(S{.offset = {1, 2}}, {x}, "2 offsets or scales for 3 features");
  check_fails(S{.offset = {1, 2}}, {t<float>({}, {1})}, "X: rank 0, expected at least 1");
  check_fails(S{}, {cast<float16>({1}, {1})}, "X cannot be tensor(float16)");
}

TEST_CASE("Scaler: symbols, called") {
  const Dims d{Dim::symbol(1), 3};
  const auto out = infer(op::Scaler{.scale = {1, 2, 3}}, {info(DType::float64, d)});
  CHECK(out[0].dims == d);
  CHECK(out[0].type == Type(DType::float32));
  const auto y = op::Scaler{.scale = {2}}(Tensor<double, Shape<2>>{1, 3});
  CHECK(y(1) == 6);
}
}  // namespace tenon
