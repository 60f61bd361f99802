#include "tenon/op/nn/max_unpool.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("MaxUnpool: cases") {
  const op::MaxUnpool two{.kernel_shape = {2}, .strides = {2}},
      square{.kernel_shape = {2, 2}, .strides = {2, 2}};
  const Value x = t<float>({1, 1, 2}, {5, 6}), m = t<float>({1, 1, 2, 2}, {5, 6, 7, 8});
  const auto at = [](std::initializer_list<int64_t> v) {
    return t<int64_t>({1, 1, static_cast<int64_t>(v.size())}, v);
  };
  const auto extents = [](std::initializer_list<int64_t> v) {
    return t<int64_t>({static_cast<int64_t>(v.size())}, v);
  };
  const Value of_square = t<int64_t>({1, 1, 2, 2}, {5, 7, 13, 15});
  struct Row {
    op::MaxUnpool op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {two, {x, at({1, 2})}, t<float>({1, 1, 4}, {0, 5, 6, 0})},
      {{.kernel_shape = {2}}, {x, at({0, 2})}, t<float>({1, 1, 3}, {5, 0, 6})},
      {{.kernel_shape = {3}, .pads = {1, 0}, .strides = {2}},
       {x, at({0, 3})},
       t<float>({1, 1, 4}, {5, 0, 0, 6})},
      {{.kernel_shape = {2}}, {x, at({1, 1})}, t<float>({1, 1, 3}, {0, 6, 0})},
      // Indices count all planes.
      {two, {t<float>({2, 1, 1}, {5, 6}), t<int64_t>({2, 1, 1}, {1, 2})}, t<float>({2, 1, 2}, {0, 5, 6, 0})},
      {square, {m, of_square}, t<float>({1, 1, 4, 4}, {0, 0, 0, 0, 0, 5, 0, 6, 0, 0, 0, 0, 0, 7, 0, 8})},
      {square,
       {m, of_square, extents({1, 1, 4, 4})},
       t<float>({1, 1, 4, 4}, {0, 0, 0, 0, 0, 5, 0, 6, 0, 0, 0, 0, 0, 7, 0, 8})},
      // No MaxPool over (5,5) gives 13 for the third window, so these count (4,4).
      {square,
       {m, of_square, extents({1, 1, 5, 5})},
       t<float>({1, 1, 5, 5}, {0, 0, 0, 0, 0, 0, 5, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 0, 8, 0, 0, 0, 0, 0, 0})},
      {square,
       {m, t<int64_t>({1, 1, 2, 2}, {6, 8, 16, 18}), extents({1, 1, 5, 5})},
       t<float>({1, 1, 5, 5}, {0, 0, 0, 0, 0, 0, 5, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 0, 8, 0, 0, 0, 0, 0, 0})},
      {two, {x, at({0, 2}), extents({1, 1, 5})}, t<float>({1, 1, 5}, {5, 0, 6, 0, 0})},
      // A last window that was cut off.
      {two, {x, at({1, 2}), extents({1, 1, 3})}, t<float>({1, 1, 3}, {0, 5, 6})},
      {two, {t<float>({0, 1, 2}, {}), t<int64_t>({0, 1, 2}, {})}, t<float>({0, 1, 4}, {})},
      {{.kernel_shape = {2}},
       {t<float>({1, 1, 0}, {}), at({}), extents({1, 1, 2})},
       t<float>({1, 1, 2}, {0, 0})},
      {two, {t<double>({1, 1, 1}, {5}), at({1})}, t<double>({1, 1, 2}, {0, 5})},
      {two, {cast<float16>({1, 1, 1}, {5}), at({1})}, cast<float16>({1, 1, 2}, {0, 5})},
      {two, {cast<bfloat16>({1, 1, 1}, {5}), at({1})}, cast<bfloat16>({1, 1, 2}, {0, 5})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out}, 0, 0);
  for (int version : {9, 11}) check(two, rows[0].in, {rows[0].out}, 0, 0, version);
}

TEST_CASE("MaxUnpool: errors") {
  const op::MaxUnpool two{.kernel_shape = {2}, .strides = {2}};
  const Value x = t<float>({1, 1, 2}, {5, 6}), at = t<int64_t>({1, 1, 2}, {1, 2});
  check_fails(two, {x, t<int64_t>({1, 1, 2}, {1, 4})}, "index 4 outside of [0, 3]");
  check_fails(two, {x, t<int64_t>({1, 1, 2}, {-1, 4})}, "index -1 outside of [0, 3]");
  check_fails(two, {x, t<int64_t>({1, 1, 2}, {INT64_MIN, INT64_MAX}), t<int64_t>({3}, {1, 1, 7})},
              "index -9223372036854775808 outside of [0, 3]");
  check_fails(two, {x, t<int64_t>({2}, {1, 4})}, "extents of X and I differ: (1,1,2) and (2)");
  check_fails(two, {x, t<int64_t>({}, {1})}, "extents of X and I differ");
  check_fails(two, {x, at, t<int64_t>({2}, {1, 4})}, "output_shape has 2 elements, X 3 axes");
  check_fails(two, {x, at, t<int64_t>({1, 3}, {1, 1, 4})}, "output_shape: rank 2, expected 1");
  check_fails(two, {x, at, t<int64_t>({3}, {1, 2, 4})}, "extents of X and output_shape differ: 2 and 1");
  check_fails(two, {x, at, t<int64_t>({3}, {1, 1, -4})}, "output_shape: -4, expected at least 0");
  check_fails(two, {x, at, t<int64_t>({3}, {1, 1, 2})},
              "output_shape 2 along axis 2: the last window begins at 2");
  check_fails(two, {x, at, t<int64_t>({3}, {1, 1, 0})}, "output_shape 0 along axis 2");
  check_fails(op::MaxUnpool{}, {t<float>({1, 2}, {5, 6}), t<int64_t>({1, 2}, {1, 0})},
              "there are no spatial axes");
  check_fails(op::MaxUnpool{}, {x, at}, "there are no spatial axes");
  check_fails(op::MaxUnpool{.kernel_shape = {0}}, {x, at}, "kernel_shape holds 0");
  check_fails(op::MaxUnpool{.kernel_shape = {1}, .strides = {0}}, {x, at}, "strides holds 0");
  check_fails(op::MaxUnpool{.kernel_shape = {1}, .pads = {1, -1}}, {x, at}, "pads holds -1");
  check_fails(op::MaxUnpool{.kernel_shape = {1}, .pads = {2, 2}}, {x, at},
              "the extent of axis 2 would become -2");
  check_fails(two, {cast<bfloat16>({1, 1, 1}, {5}), t<int64_t>({1, 1, 1}, {1})},
              "input X cannot be tensor(bfloat16)", 1, 11);
}

TEST_CASE("MaxUnpool: symbols, and typed") {
  const auto n = Dim::symbol(1), h = Dim::symbol(2);
  const op::MaxUnpool square{.kernel_shape = {2, 2}, .strides = {2, 2}};
  const Dim u;
  CHECK(infer(square, {info(DType::float32, {n, 3, h, 4}), info(DType::int64, {n, 3, h, 4})})[0].dims ==
        Dims{n, 3, u, 8});
  CHECK(infer(square, {info(DType::float32, {n, 3, h, 4}), info(DType::int64, Dims()),
                       info(DType::int64, {4}, {n, 3, 7, 9})})[0]
            .dims == Dims{n, 3, 7, 9});
  CHECK(
      infer(square, {info(DType::float32, Dims()), info(DType::int64, Dims()), info(DType::int64, Dims())})[0]
          .dims == Dims{u, u, u, u});
  Tensor<float, Shape<1, 1, 2>> x{{{5, 6}}};
  Tensor<int64_t, Shape<1, 1, 2>> at{{{1, 2}}};
  const auto y = apply<op::MaxUnpool{.kernel_shape = {2}, .strides = {2}}>(x, at);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 1, 4>>>);
  CHECK(y(0, 0, 2) == 6);
}
}  // namespace tenon
