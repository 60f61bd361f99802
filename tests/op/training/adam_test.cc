#include "tenon/op/training/adam.hpp"

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Adam: one tensor") {
  const Value r = t<float>({}, {0.5f}), x = t<float>({2}, {1, -2}), g = t<float>({2}, {4, 8});
  const Value v = t<float>({2}, {2, 0}), h = t<float>({2}, {16, 0});
  const op::Adam op{
      .alpha = 0.5f, .beta = 0.75f, .epsilon = 1, .norm_coefficient = 2, .norm_coefficient_post = 0.5f};
  // g = 2 x + G = {6, 4}; v = {4, 2}; h = {12 + 9, 4}
  const double s = std::sqrt(21.0);
  check(op, {r, t<int64_t>({}, {0}), x, g, v, h},
        {cast<float>({2}, {0.5 * (1 - 0.5 * 4 / (s + 1)), 0.5 * (-2 - 0.5 * 2 / 3)}), t<float>({2}, {4, 2}),
         t<float>({2}, {21, 4})});
  // T = 2: sqrt(1 - 9/16) / (1 - 1/4)
  const double rate = 0.5 * std::sqrt(7.0 / 16) / 0.75;
  check(op, {r, t<int64_t>({1}, {2}), x, g, v, h},
        {cast<float>({2}, {0.5 * (1 - rate * 4 / (s + 1)), 0.5 * (-2 - rate * 2 / 3)}), t<float>({2}, {4, 2}),
         t<float>({2}, {21, 4})});
  const op::Adam plain;
  check(plain, {r, t<int64_t>({}, {0}), x, g, v, h},
        {cast<float>({2}, {1 - 0.5 * 2.2 / std::sqrt(16.0), -2 - 0.5 * 0.8 / std::sqrt(0.064)}),
         cast<float>({2}, {2.2, 0.8}), cast<float>({2}, {16, 0.064})},
        1e-4);
  check(stated<op::Adam>(1), {r, t<int64_t>({}, {0}), x, g, v, h},
        run(plain, {r, t<int64_t>({}, {0}), x, g, v, h}, 3));
}

TEST_CASE("Adam: several tensors of several types, refused, symbols") {
  const op::Adam op{.alpha = 0, .beta = 0, .epsilon = 0};
  const Value r = t<double>({}, {1}), i = t<int64_t>({}, {0}), x = t<float>({2}, {1, 2});
  const Value y = t<double>({1}, {7}), g = t<double>({2}, {3, -4});
  check(op, {r, i, x, y, g, y, x, y, g, y},
        {t<float>({2}, {0, 3}), t<double>({1}, {6}), t<float>({2}, {3, -4}), t<double>({1}, {7}),
         t<double>({2}, {9, 16}), t<double>({1}, {49})},
        0, 0);
  check_fails(op, {r, i, x, x, x}, "takes a multiple of 4 tensors after R and T, not 3", 3);
  check_fails(op, {r, i, x, x, x, x}, "has 2 outputs, expected 3", 2);
  check_fails(op, {r, i, x, x, x, y}, "its gradient and its states differ: 2 and 1", 3);
  const auto n = Dim::symbol(1);
  const auto f = info(DType::float32, {n});
  const auto out =
      infer(op, {info(DType::float32, {}), info(DType::int64, {}), f, f, f, info(DType::float64, {n})}, 3);
  CHECK(out[1].type == Type(DType::float32));
  CHECK(out[2].type == Type(DType::float64));
  CHECK(out[2].dims == Dims{n});
}
}  // namespace tenon
