#include "tenon/op/nn/conv_integer.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ConvInteger: cases") {
  const Value x = t<uint8_t>({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10}),
              w = t<uint8_t>({1, 1, 2, 2}, {1, 1, 1, 1});
  const Value none_, one = t<uint8_t>({}, {1});
  struct Row {
    op::ConvInteger op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {{}, {x, w, one}, t<int32_t>({1, 1, 2, 2}, {12, 16, 24, 28})},
      {{}, {x, w, t<uint8_t>({1}, {1})}, t<int32_t>({1, 1, 2, 2}, {12, 16, 24, 28})},
      {{.pads = {1, 1, 1, 1}},
       {x, w, one},
       t<int32_t>({1, 1, 4, 4}, {1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9})},
      {{.auto_pad = "SAME_UPPER"}, {x, w, one}, t<int32_t>({1, 1, 3, 3}, {12, 16, 9, 24, 28, 15, 15, 17, 9})},
      {{.kernel_shape = {2, 2}, .strides = {2, 2}}, {x, w}, t<int32_t>({1, 1, 1, 1}, {16})},
      {{.dilations = {2, 2}}, {x, w}, t<int32_t>({1, 1, 1, 1}, {24})},
      // A zero point for each output channel, and groups.
      {{},
       {t<uint8_t>({1, 1, 2}, {200, 255}), t<int8_t>({2, 1, 2}, {-128, 127, 1, 2}), none_,
        t<int8_t>({2}, {0, 1})},
       t<int32_t>({1, 2, 1}, {200 * -128 + 255 * 127, 255})},
      {{.group = 2},
       {t<int8_t>({2, 2, 1}, {1, 2, -3, 4}), t<uint8_t>({2, 1, 1}, {10, 20}), t<int8_t>({}, {-1})},
       t<int32_t>({2, 2, 1}, {20, 60, -20, 100})},
      {{}, {t<int8_t>({0, 2, 3}, {}), t<int8_t>({1, 2, 1}, {5, 6})}, t<int32_t>({0, 1, 3}, {})},
      {{}, {t<int8_t>({1, 1, 3}, {1, 2, 3}), t<int8_t>({0, 1, 1}, {})}, t<int32_t>({1, 0, 3}, {})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out});
}

TEST_CASE("ConvInteger: errors, symbols, and typed") {
  const Value x = t<uint8_t>({1, 2, 2}, {1, 2, 3, 4}), w = t<int8_t>({3, 2, 1}, {1, 2, 3, 4, 5, 6});
  const op::ConvInteger plain;
  check_fails(plain, {x, w, t<uint8_t>({2}, {1, 2})}, "x_zero_point: (2), expected one element");
  check_fails(plain, {x, w, Value(), t<int8_t>({2}, {1, 2})},
              "w_zero_point: (2) does not fit 3 output channels");
  check_fails(plain, {x, w, Value(), t<int8_t>({3, 1}, {1, 2, 3})}, "w_zero_point: rank 2, expected 1");
  check_fails(plain, {x, w, t<int8_t>({}, {1})},
              "input x_zero_point is tensor(int8), but T1 is tensor(uint8)");
  check_fails(plain, {x, t<int8_t>({3, 1, 1}, {1, 2, 3})}, "X has 2 channels, W 1 for each of 1 groups");
  check_fails(plain, {t<float>({1, 1, 1}, {1}), w}, "input x cannot be tensor(float)");
  const auto n = Dim::symbol(1);
  const auto out = infer(plain, {info(DType::uint8, {n, 3, 8}), info(DType::int8, {4, 3, 3})});
  CHECK(out[0].dims == Dims{n, 4, 6});
  CHECK(out[0].type == Type(DType::int32));
  Tensor<uint8_t, Shape<1, 1, 2>> a{{{1, 2}}};
  Tensor<int8_t, Shape<1, 1, 2>> b{{{3, 4}}};
  const auto y = apply<op::ConvInteger{}>(a, b);
  static_assert(std::is_same_v<decltype(y), const Tensor<int32_t, Shape<1, 1, 1>>>);
  CHECK(y.item() == 11);
}
}  // namespace tenon
