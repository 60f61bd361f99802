#include "tenon/op/nn/instance_normalization.hpp"

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("InstanceNormalization: cases") {
  const float nan = std::nanf("");
  const op::InstanceNormalization plain{.epsilon = 0};
  struct Row {
    op::InstanceNormalization op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {plain,
       {t<float>({2, 2, 2}, {1, 3, 10, 20, 0, 4, -1, 1}), t<float>({2}, {1, 2}), t<float>({2}, {0, 10})},
       t<float>({2, 2, 2}, {-1, 1, 8, 12, -1, 1, 8, 12})},
      {plain,
       {t<float>({1, 1, 2, 2}, {1, 1, 3, 3}), t<float>({1}, {2}), t<float>({1}, {1})},
       t<float>({1, 1, 2, 2}, {-1, -1, 3, 3})},
      {{.epsilon = 3},
       {t<float>({1, 1, 2}, {1, 3}), t<float>({1}, {1}), t<float>({1}, {0})},
       t<float>({1, 1, 2}, {-0.5f, 0.5f})},
      // One element is its own mean.
      {{},
       {t<float>({1, 2}, {5, 7}), t<float>({2}, {1, 1}), t<float>({2}, {3, 4})},
       t<float>({1, 2}, {3, 4})},
      {plain,
       {t<float>({1, 2, 2}, {nan, 1, 1, 3}), t<float>({2}, {1, 1}), t<float>({2}, {0, 0})},
       t<float>({1, 2, 2}, {nan, nan, -1, 1})},
      {{}, {t<float>({2, 0, 2}, {}), t<float>({0}, {}), t<float>({0}, {})}, t<float>({2, 0, 2}, {})},
      {{}, {t<float>({1, 1, 0}, {}), t<float>({1}, {1}), t<float>({1}, {1})}, t<float>({1, 1, 0}, {})},
      {plain,
       {t<double>({1, 1, 2}, {1e9 - 1, 1e9 + 1}), t<double>({1}, {1}), t<double>({1}, {0})},
       t<double>({1, 1, 2}, {-1, 1})},
      {plain,
       {cast<float16>({1, 1, 2}, {1, 3}), cast<float16>({1}, {2}), cast<float16>({1}, {1})},
       cast<float16>({1, 1, 2}, {-1, 3})},
      {plain,
       {cast<bfloat16>({1, 1, 2}, {1, 3}), cast<bfloat16>({1}, {2}), cast<bfloat16>({1}, {1})},
       cast<bfloat16>({1, 1, 2}, {-1, 3})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out}, 2e-6);
  check_consumed_inputs<op::InstanceNormalization>(
      {t<float>({1, 1, 2}, {1, 1}), t<float>({1}, {2}), t<float>({1}, {1})}, t<float>({1, 1, 2}, {1, 1}));
}

TEST_CASE("InstanceNormalization: errors, symbols, and typed") {
  const op::InstanceNormalization plain{.epsilon = 0};
  const Value x = t<float>({1, 2, 1}, {1, 2}), one = t<float>({1}, {1}), two = t<float>({2}, {1, 1});
  check_fails(plain, {x, one, two}, "extents of channels differ: 2 and 1");
  check_fails(plain, {x, two, one}, "extents of channels differ: 2 and 1");
  check_fails(plain, {x, x, two}, "scale: rank 3, expected 1");
  check_fails(plain, {two, two, two}, "input: rank 1, expected at least 2");
  check_fails(plain, {x, two}, "input B is missing");
  check_fails(plain, {x, two, t<double>({2}, {1, 2})}, "input B is tensor(double), but T is tensor(float)");
  check_fails(plain, {cast<bfloat16>({1, 1}, {1}), cast<bfloat16>({1}, {1}), cast<bfloat16>({1}, {1})},
              "input input cannot be tensor(bfloat16)", 1, 6);
  const auto n = Dim::symbol(1);
  CHECK(infer(plain,
              {info(DType::float32, {n, 3, 8}), info(DType::float32, {3}), info(DType::float32, Dims())})[0]
            .dims == Dims{n, 3, 8});
  CHECK_FALSE(
      infer(plain, {info(DType::float32, Dims()), info(DType::float32, {3}), info(DType::float32, {3})})[0]
          .dims.ranked());
  Tensor<float, Shape<1, 1, 2>> typed{{{1, 3}}};
  Tensor<float, Shape<1>> scale{2}, bias{1};
  const auto y = apply<op::InstanceNormalization{.epsilon = 0}>(typed, scale, bias);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 1, 2>>>);
  CHECK(y(0, 0, 1) == 3);
}
}  // namespace tenon
