#include "tenon/op/training/adagrad.hpp"

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Adagrad: one tensor") {
  const Value r = t<float>({}, {0.5f}), x = t<float>({2}, {1, -2}), g = t<float>({2}, {3, 4});
  const Value h = t<float>({2}, {7, 9}), none = t<int64_t>({}, {0});
  // sqrt(7 + 9) = 4, sqrt(9 + 16) = 5
  const op::Adagrad plain{.epsilon = 1};
  check(plain, {r, none, x, g, h}, {t<float>({2}, {1 - 1.5f / 5, -2 - 2.0f / 6}), t<float>({2}, {16, 25})});
  // g = 2 x + G = {5, 0}, r = 0.5 / (1 + 3 * 0.5) = 0.2
  const op::Adagrad all{.decay_factor = 0.5f, .epsilon = 0, .norm_coefficient = 2};
  check(all, {r, t<int64_t>({1}, {3}), x, g, t<float>({2}, {0, 1})},
        {t<float>({2}, {0.8f, -2}), t<float>({2}, {25, 1})});
  check(stated<op::Adagrad>(1, {{"epsilon", 1.0f}}), {r, none, x, g, h},
        {t<float>({2}, {1 - 1.5f / 5, -2 - 2.0f / 6}), t<float>({2}, {16, 25})});
}

TEST_CASE("Adagrad: several tensors of several types") {
  const op::Adagrad op{.epsilon = 0};
  const Value r = t<double>({1}, {1}), none = t<int64_t>({}, {0});
  const Value x1 = t<float>({}, {1}), x2 = t<double>({1, 2}, {1, 2}), g1 = t<float>({}, {3});
  const Value g2 = t<float>({1, 2}, {0, 4}), h1 = t<double>({}, {16}), h2 = t<double>({1, 2}, {4, 0});
  check(op, {r, none, x1, x2, g1, g2, h1, h2},
        {t<float>({}, {1 - 3.0f / 5}), t<double>({1, 2}, {1, 1}), t<double>({}, {25}),
         t<double>({1, 2}, {4, 16})});
  check(op, {r, none, t<float>({0, 3}, {}), t<float>({0, 3}, {}), t<float>({0, 3}, {})},
        {t<float>({0, 3}, {}), t<float>({0, 3}, {})});
  Tensor<float> x(Extents{20000}), g(Extents{20000}), h(Extents{20000}), x_new(Extents{20000}),
      h_new(Extents{20000});
  for (int64_t k = 0; k < x.size(); ++k) {
    x[k] = static_cast<float>(k), g[k] = static_cast<float>(k % 3 + 1), h[k] = 0;
    x_new[k] = x[k] - 1, h_new[k] = g[k] * g[k];
  }
  check(op, {r, none, x, g, h}, {x_new, h_new}, 0, 0);
}

TEST_CASE("Adagrad: refused, symbols, typed") {
  const op::Adagrad op;
  const Value r = t<float>({}, {1}), i = t<int64_t>({}, {0}), x = t<float>({2}, {1, 2});
  check_fails(op, {r, i, x, x, x}, "has 1 outputs, expected 2", 1);
  check_fails(op, {r, i, x, x, x}, "has 3 outputs, expected 2", 3);
  check_fails(op, {r, i, x, x, x, x}, "takes a multiple of 3 tensors after R and T, not 4", 2);
  check_fails(op, {r, i}, "input inputs is missing", 1);
  check_fails(op, {r, i, x, x, Value()}, "input 4 is missing", 2);
  check_fails(op, {x, i, x, x, x}, "R: (2), expected one element", 2);
  check_fails(op, {r, t<int64_t>({2}, {1, 2}), x, x, x}, "T: (2), expected one element", 2);
  check_fails(op, {r, i, x, t<float>({1}, {1}), x}, "its gradient and its states differ: 2 and 1", 2);
  check_fails(op, {r, i, x, x, cast<float16>({2}, {1, 2})}, "cannot be tensor(float16)", 2);
  const auto n = Dim::symbol(1);
  const auto out = infer(op,
                         {info(DType::float32, {}), info(DType::int64, {}), info(DType::float64, Dims()),
                          info(DType::float32, {n, 3}), info(DType::float32, {n, 3})},
                         2);
  CHECK(out[0].dims == Dims{n, 3});
  CHECK(out[0].type == Type(DType::float64));
  CHECK(out[1].type == Type(DType::float32));
  CHECK(out[1].dims == Dims{n, 3});
}
}  // namespace tenon
