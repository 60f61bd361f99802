#include "tenon/op/training/momentum.hpp"

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Momentum: modes and the first step") {
  const Value r = t<float>({}, {0.5f}), x = t<float>({2}, {1, 2}), g = t<float>({2}, {3, -1});
  const Value v = t<float>({2}, {8, 4}), first = t<int64_t>({}, {0}), later = t<int64_t>({1}, {5});
  const op::Momentum standard{.alpha = 0.5f, .beta = 2.0f, .mode = Str("standard"), .norm_coefficient = 1.0f};
  // g + x = {4, 1}
  check(standard, {r, later, x, g, v}, {t<float>({2}, {1 - 6, 2 - 2}), t<float>({2}, {12, 4})}, 0, 0);
  check(standard, {r, first, x, g, v}, {t<float>({2}, {1 - 4, 0.5}), t<float>({2}, {8, 3})}, 0, 0);
  check(standard, {r, t<int64_t>({}, {-1}), x, g, v}, run(standard, {r, first, x, g, v}, 2), 0, 0);
  const op::Momentum nesterov{.alpha = 0.5f, .beta = 2.0f, .mode = Str("nesterov"), .norm_coefficient = 1.0f};
  check(nesterov, {r, later, x, g, v}, {t<float>({2}, {1 - 5, 2 - 1.5f}), t<float>({2}, {12, 4})}, 0, 0);
  check(stated<op::Momentum>(
            1, {{"alpha", 0.5f}, {"beta", 2.0f}, {"mode", "nesterov"}, {"norm_coefficient", 1.0f}}),
        {r, later, x, g, v}, {t<float>({2}, {1 - 5, 2 - 1.5f}), t<float>({2}, {12, 4})}, 0, 0);
}

TEST_CASE("Momentum: several tensors of several types, refused, symbols") {
  const op::Momentum op{.alpha = 0.0f, .beta = 1.0f, .mode = Str("standard"), .norm_coefficient = 0.0f};
  const Value r = t<double>({}, {1}), i = t<int64_t>({}, {1}), x = t<float>({2}, {1, 2});
  const Value y = t<double>({1}, {7}), g = t<double>({2}, {3, 4});
  check(op, {r, i, x, y, g, y, x, y},
        {t<float>({2}, {-2, -2}), t<double>({1}, {0}), t<float>({2}, {3, 4}), t<double>({1}, {7})}, 0, 0);
  check_fails(op, {r, i, x, x}, "takes a multiple of 3 tensors after R and T, not 2", 2);
  check_fails(op, {r, i, x, x, x}, "has 3 outputs, expected 2", 3);
  check_fails(op::Momentum{.alpha = 1.0f, .beta = 1.0f, .mode = Str("fast"), .norm_coefficient = 0.0f},
              {r, i, x, x, x}, "mode: 'fast', expected standard or nesterov", 2);
  check_fails(op::Momentum{}, {r, i, x, x, x}, "are required", 2);
  check_refused<op::Momentum>(1, {{"alpha", 0.5f}}, "'beta' is required");
  const auto n = Dim::symbol(1);
  const auto out = infer(op,
                         {info(DType::float32, {}), info(DType::int64, {}), info(DType::float64, {n}),
                          info(DType::float32, {n}), info(DType::float32, {4})},
                         2);
  CHECK(out[0].dims == Dims{4});
  CHECK(out[1].type == Type(DType::float32));
}
}  // namespace tenon
