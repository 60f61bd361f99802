#include "tenon/op/traditionalml/svm_regressor.hpp"

#include <cmath>

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using S = op::SVMRegressor;

TEST_CASE("SVMRegressor: cases") {
  const Value x = t<float>({2, 2}, {2, 2, 1, 0});
  const auto with = [](const char* kernel, float degree = 2) {
    return S{.coefficients = {2, -1},
             .kernel_params = {0.5f, 1, degree},
             .kernel_type = kernel,
             .n_supports = 2,
             .rho = {1},
             .support_vectors = {1, 1, 0, 1}};
  };
  const auto f = [](double v) { return static_cast<float>(v); };
  S linear{.coefficients = {1, -2}, .rho = {0.5f}};
  S one = with("LINEAR"), logistic = linear;
  one.one_class = 1;
  logistic.post_transform = "LOGISTIC";
  struct Row {
    S op;
    Value x, y;
  } rows[] = {
      {linear, x, t<float>({2, 1}, {-1.5f, 1.5f})},
      {logistic, x, t<float>({2, 1}, {f(1 / (1 + std::exp(1.5))), f(1 / (1 + std::exp(-1.5)))})},
      // Products with the support vectors: 4 and 2, 1 and 0.
      {with("LINEAR"), x, t<float>({2, 1}, {7, 3})},
      {with("POLY"), x, t<float>({2, 1}, {2 * 9 - 4 + 1, 2 * 2.25f - 1 + 1})},
      {with("POLY", 3.9f), x, t<float>({2, 1}, {2 * 27 - 8 + 1, 2 * 3.375f - 1 + 1})},
      {with("POLY", 0), x, t<float>({2, 1}, {2, 2})},
      {with("POLY", -1), x, t<float>({2, 1}, {f(2 / 3.0 - 0.5 + 1), f(2 / 1.5 - 1 + 1)})},
      {with("SIGMOID"), x,
       t<float>({2, 1}, {f(2 * std::tanh(3) - std::tanh(2) + 1), f(2 * std::tanh(1.5) - std::tanh(1) + 1)})},
      // Squared distances: 2 and 5, 1 and 2.
      {with("RBF"), x,
       t<float>({2, 1},
                {f(2 * std::exp(-1) - std::exp(-2.5) + 1), f(2 * std::exp(-0.5) - std::exp(-1) + 1)})},
      {one, t<float>({2, 2}, {2, 2, -2, -2}), t<float>({2, 1}, {1, -1})},
      {with("RBF"), t<double>({2}, {1, 1}), t<float>({1, 1}, {f(3 - std::exp(-0.5))})},
      {with("LINEAR"), t<int32_t>({1, 2}, {2, 2}), t<float>({1, 1}, {7})},
      {with("LINEAR"), t<int64_t>({1, 2}, {2, 2}), t<float>({1, 1}, {7})},
      {with("RBF"), t<float>({0, 2}, {}), t<float>({0, 1}, {})},
      {{.rho = {3}}, t<float>({1, 0}, {}), t<float>({1, 1}, {3})},
  };
  for (const Row& row : rows) check(row.op, {row.x}, {row.y}, 1e-5, 1e-6);
  // Longer rows, which are summed in several parts.
  S wide{.coefficients = {1},
         .kernel_params = {0.125f, 0, 0},
         .kernel_type = "RBF",
         .n_supports = 1,
         .rho = {0}};
  wide.support_vectors.assign(19, 0.5f);
  Tensor<float> row(Extents{1, 19});
  check(wide, {row}, {t<float>({1, 1}, {f(std::exp(-19 * 0.25 * 0.125))})});

  S bad = with("RBF");
  bad.support_vectors.pop_back();
  check_fails(bad, {x}, "support_vectors: 3 numbers for 2 vectors");
  bad = with("RBF");
  bad.coefficients.pop_back();
  check_fails(bad, {x}, "coefficients: 1 entries, expected 2");
  bad = with("RBF");
  bad.kernel_params.pop_back();
  check_fails(bad, {x}, "kernel_params: 2 entries, expected 3");
  check_fails(with("rbf"), {x}, "kernel_type: 'rbf', expected LINEAR, POLY, RBF or SIGMOID");
  check_fails(with("RBF"), {t<float>({3}, {1, 2, 3})}, "X has 3 features, expected 2");
  check_fails(with("RBF"), {t<float>({1, 1, 2}, {1, 2})}, "X: rank 3");
  check_fails(S{.coefficients = {1, 1}}, {x}, "rho is missing");
  check_fails(S{.coefficients = {1, 1}, .n_supports = -1, .rho = {1}}, {x}, "n_supports: -1");
}

TEST_CASE("SVMRegressor: symbols, called") {
  const Dim n = Dim::symbol(1);
  const S op{.coefficients = {1, 2}, .rho = {3}};
  CHECK(infer(op, {info(DType::float32, {n, 2})})[0].dims == Dims{n, 1});
  const auto y = op(Tensor<float, Shape<1, 2>>{{1, 1}});
  CHECK(y(0, 0) == 6);
}
}  // namespace tenon
