#include "tenon/op/traditionalml/imputer.hpp"

#include <cmath>

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Imputer: cases") {
  using I = op::Imputer;
  const float nan = std::nanf("");
  const double dnan = std::nan("");
  struct Row {
    I op;
    Value x, y;
  } rows[] = {
      {{.imputed_value_floats = {7}}, t<float>({2, 2}, {0, 1, -0.0f, nan}), t<float>({2, 2}, {7, 1, 7, nan})},
      {{.imputed_value_floats = {7, 8}, .replaced_value_float = nan},
       t<float>({2, 2}, {nan, nan, 0, -nan}),
       t<float>({2, 2}, {7, 8, 0, 8})},
      {{.imputed_value_floats = {0.5f}, .replaced_value_float = -1},
       t<double>({3}, {-1, 2, dnan}),
       t<double>({3}, {0.5, 2, dnan})},
      {{.imputed_value_int64s = {5, 6}, .replaced_value_int64 = -1},
       t<int64_t>({2, 2}, {-1, -1, 0, 1}),
       t<int64_t>({2, 2}, {5, 6, 0, 1})},
      {{.imputed_value_int64s = {INT32_MIN}}, t<int32_t>({2}, {0, 4}), t<int32_t>({2}, {INT32_MIN, 4})},
      {{.imputed_value_int64s = {3}, .replaced_value_int64 = int64_t{1} << 32},
       t<int32_t>({2}, {0, 4}),
       t<int32_t>({2}, {0, 4})},
      {{.imputed_value_floats = {1, 2, 3}}, t<float>({1, 1, 3}, {0, 0, 0}), t<float>({1, 1, 3}, {1, 2, 3})},
      {{.imputed_value_floats = {1}}, t<float>({0, 3}, {}), t<float>({0, 3}, {})},
      {{.imputed_value_floats = {1}}, t<float>({3, 0}, {}), t<float>({3, 0}, {})},
  };
  for (const Row& row : rows) check(row.op, {row.x}, {row.y}, 0, 0);
  const Value x = t<float>({1, 3}, {1, 2, 3});
  check_fails(I{}, {x}, "floats take imputed_value_floats and no others");
  check_fails(I{.imputed_value_int64s = {1}}, {x}, "floats take imputed_value_floats");
  check_fails(I{.imputed_value_floats = {1}}, {t<int32_t>({1}, {1})}, "integers take imputed_value_int64s");
  check_fails(I{.imputed_value_floats = {1}, .imputed_value_int64s = {1}}, {x}, "and no others");
  check_fails(I{.imputed_value_floats = {1, 2}}, {x}, "2 imputed values for 3 features");
  check_fails(I{.imputed_value_int64s = {int64_t{1} << 31}}, {t<int32_t>({1}, {1})},
              "imputed value 2147483648 is no int32");
  check_fails(I{.imputed_value_floats = {1}}, {t<float>({}, {1})}, "X: rank 0, expected at least 1");
}

TEST_CASE("Imputer: symbols, called") {
  const Dims d{Dim::symbol(1), Dim::symbol(2)};
  CHECK(infer(op::Imputer{.imputed_value_floats = {1, 2}}, {info(DType::float32, d)})[0].dims == d);
  const auto y = op::Imputer{.imputed_value_floats = {9}}(Tensor<float, Shape<2>>{0, 1});
  CHECK(y(0) == 9);
  CHECK(y(1) == 1);
}
}  // namespace tenon
