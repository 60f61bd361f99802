#include "tenon/op/nn/rms_normalization.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("RMSNormalization: cases") {
  const Value x = t<float>({2, 2}, {1, 7, -7, 1}), one = t<float>({2}, {1, 1});  // the mean square is 25
  const float nan = std::nanf("");
  const op::RMSNormalization plain{.epsilon = 0}, all{.axis = 0, .epsilon = 0};
  struct Row {
    op::RMSNormalization op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {plain, {x, one}, t<float>({2, 2}, {0.2f, 1.4f, -1.4f, 0.2f})},
      {plain, {x, t<float>({2}, {5, 10})}, t<float>({2, 2}, {1, 14, -7, 2})},
      {plain, {x, t<float>({}, {5})}, t<float>({2, 2}, {1, 7, -7, 1})},
      {plain, {x, t<float>({1, 1}, {5})}, t<float>({2, 2}, {1, 7, -7, 1})},
      {all, {x, t<float>({2, 1}, {5, 10})}, t<float>({2, 2}, {1, 7, -14, 2})},
      {all, {x, t<float>({2, 2}, {5, 10, 15, 20})}, t<float>({2, 2}, {1, 14, -21, 4})},
      // Scales that differ among the rows.
      {plain, {x, t<float>({2, 1}, {5, 10})}, t<float>({2, 2}, {1, 7, -14, 2})},
      {plain, {x, t<float>({2, 2}, {5, 10, 15, 20})}, t<float>({2, 2}, {1, 14, -21, 4})},
      {plain,
       {cast<float16>({2, 1, 2}, {1, 7, -7, 1}), t<double>({2, 1, 1}, {5, 10})},
       t<double>({2, 1, 2}, {1, 7, -14, 2})},
      {{.axis = -2, .epsilon = 0},
       {t<float>({1, 2, 1}, {1, 7}), t<float>({1}, {5})},
       t<float>({1, 2, 1}, {1, 7})},
      {{.epsilon = 75}, {x, t<float>({2}, {10, 10})}, t<float>({2, 2}, {1, 7, -7, 1})},
      {{}, {t<float>({1, 2}, {nan, 1}), one}, t<float>({1, 2}, {nan, nan})},
      {{}, {t<float>({0, 2}, {}), one}, t<float>({0, 2}, {})},
      {{}, {t<float>({2, 0}, {}), t<float>({0}, {})}, t<float>({2, 0}, {})},
      {{.epsilon = 0, .stash_type = 16},
       {t<double>({1, 2}, {1, 7}), t<double>({1}, {5})},
       t<double>({1, 2}, {1, 7})},
      {plain, {cast<float16>({1, 2}, {1, 7}), cast<float16>({2}, {5, 10})}, cast<float16>({1, 2}, {1, 14})},
      {plain, {cast<bfloat16>({1, 2}, {1, 7}), cast<bfloat16>({1}, {5})}, cast<bfloat16>({1, 2}, {1, 7})},
      // The result has scale's type.
      {plain, {cast<float16>({1, 2}, {1, 7}), t<float>({2}, {5, 10})}, t<float>({1, 2}, {1, 14})},
      {plain, {t<float>({1, 2}, {1, 7}), cast<bfloat16>({}, {5})}, cast<bfloat16>({1, 2}, {1, 7})},
      {plain, {t<double>({1, 2}, {1, 7}), cast<float16>({2}, {5, 10})}, cast<float16>({1, 2}, {1, 14})},
      {plain, {cast<bfloat16>({1, 2}, {1, 7}), t<double>({2}, {5, 10})}, t<double>({1, 2}, {1, 14})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out}, 2e-6);
}

TEST_CASE("RMSNormalization: errors, symbols, and typed") {
  const Value x = t<float>({2, 2}, {1, 3, 10, 20});
  check_fails(op::RMSNormalization{.stash_type = 2}, {x, x}, "stash_type: 2, expected 1, 10, 11 or 16");
  check_fails(op::RMSNormalization{.axis = 2}, {x, x}, "axis 2 outside of [-2, 1]");
  check_fails(op::RMSNormalization{}, {t<float>({}, {1}), x}, "axis -1 outside of");
  check_fails(op::RMSNormalization{}, {x, t<float>({3}, {1, 2, 3})}, "input 1 (3) does not stretch");
  check_fails(op::RMSNormalization{}, {x, t<float>({1, 2, 1}, {5, 10})}, "input 1 (1,2,1) does not stretch");
  check_fails(op::RMSNormalization{}, {x, t<float>({1, 1, 2}, {5, 10})}, "input 1 (1,1,2) does not stretch");
  check_fails(op::RMSNormalization{}, {x}, "input scale is missing");
  check_fails(op::RMSNormalization{}, {x, t<int32_t>({1}, {1})}, "input scale cannot be tensor(int32)");
  const auto n = Dim::symbol(1);
  const auto out =
      infer(op::RMSNormalization{}, {info(DType::float16, {n, 3, 8}), info(DType::float32, {8})});
  CHECK(out[0].dims == Dims{n, 3, 8});
  CHECK(out[0].type == Type(DType::float32));
  Tensor<float, Shape<1, 2>> typed{{1, 7}};
  Tensor<double, Shape<2>> scale{5, 10};
  const auto y = apply<op::RMSNormalization{.epsilon = 0}>(typed, scale);
  static_assert(std::is_same_v<decltype(y), const Tensor<double, Shape<1, 2>>>);
  CHECK(y(0, 1) == doctest::Approx(14));
}
}  // namespace tenon
