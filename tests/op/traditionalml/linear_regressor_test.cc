#include "tenon/op/traditionalml/linear_regressor.hpp"

#include <cmath>

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using R = op::LinearRegressor;

TEST_CASE("LinearRegressor: cases") {
  const Value x = t<float>({2, 2}, {1, 2, -3, 0});
  const std::vector<float> two{1, 0, 1, 1};
  const auto sigmoid = [](double v) { return static_cast<float>(1 / (1 + std::exp(-v))); };
  struct Row {
    R op;
    Value x, y;
  } rows[] = {
      {{.coefficients = {1, 1}, .intercepts = {0.5f}}, x, t<float>({2, 1}, {3.5f, -2.5f})},
      {{.coefficients = two, .targets = 2}, x, t<float>({2, 2}, {1, 3, -3, -3})},
      {{.coefficients = two, .intercepts = {1, 2}, .targets = 2}, x, t<float>({2, 2}, {2, 5, -2, -1})},
      {{.coefficients = {1, 1, 99, 99}}, x, t<float>({2, 1}, {3, -3})},
      {{.coefficients = two, .post_transform = "SOFTMAX", .targets = 2},
       x,
       t<float>({2, 2}, {sigmoid(-2), sigmoid(2), 0.5f, 0.5f})},
      {{.coefficients = {1, 1}, .post_transform = "LOGISTIC"},
       x,
       t<float>({2, 1}, {sigmoid(3), sigmoid(-3)})},
      {{.coefficients = {1, 1}}, t<float>({2}, {1, 2}), t<float>({1, 1}, {3})},
      {{.coefficients = {1, 1}}, t<double>({1, 2}, {1e-3, 1}), t<float>({1, 1}, {1.001f})},
      {{.coefficients = {1, 1}}, t<int32_t>({1, 2}, {1, 2}), t<float>({1, 1}, {3})},
      {{.coefficients = {1, 1}}, t<int64_t>({1, 2}, {1, 2}), t<float>({1, 1}, {3})},
      {{.coefficients = {1, 1}}, t<float>({0, 2}, {}), t<float>({0, 1}, {})},
      {{.intercepts = {4}}, t<float>({1, 0}, {}), t<float>({1, 1}, {4})},
  };
  for (const Row& row : rows) check(row.op, {row.x}, {row.y}, 1e-6, 1e-6);
  check_fails(R{.coefficients = {1}}, {x}, "1 coefficients for 1 targets of 2 features");
  check_fails(R{.coefficients = two, .intercepts = {1}, .targets = 2}, {x},
              "intercepts: 1 entries, expected 2");
  check_fails(R{.coefficients = two, .targets = 0}, {x}, "targets: 0, expected at least 1");
  check_fails(R{.coefficients = two, .targets = INT64_MAX}, {x}, "4 coefficients for");
  check_fails(R{.coefficients = two}, {t<float>({1, 1, 2}, {1, 2})}, "X: rank 3, expected 1 or 2");
  check_fails(R{.coefficients = two, .post_transform = "none"}, {x}, "post_transform: 'none', expected");
}

TEST_CASE("LinearRegressor: symbols, called") {
  const Dim n = Dim::symbol(1);
  const R op{.coefficients = {1, 2}};
  CHECK(infer(op, {info(DType::float32, {n, Dim()})})[0].dims == Dims{n, 1});
  const auto y = op(Tensor<float, Shape<1, 2>>{{1, 2}});
  CHECK(y(0, 0) == 5);
}
}  // namespace tenon
