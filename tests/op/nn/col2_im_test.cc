#include "tenon/op/nn/col2_im.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("Col2Im: cases") {
  const auto i = [](std::initializer_list<int64_t> v) {
    return t<int64_t>({static_cast<int64_t>(v.size())}, v);
  };
  const Value x = t<float>({1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  struct Row {
    op::Col2Im op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      // Blocks side by side, and blocks that overlap.
      {{.strides = {2, 2}}, {x, i({2, 4}), i({2, 2})}, t<float>({1, 1, 2, 4}, {1, 3, 2, 4, 5, 7, 6, 8})},
      {{}, {x, i({2, 3}), i({2, 2})}, t<float>({1, 1, 2, 3}, {1, 5, 4, 5, 13, 8})},
      {{.dilations = {1, 2}}, {x, i({2, 4}), i({2, 2})}, t<float>({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})},
      {{.pads = {0, 1, 0, 0}}, {x, i({2, 2}), i({2, 2})}, t<float>({1, 1, 2, 2}, {5, 4, 13, 8})},
      {{.pads = {1, 0, 0, 0}},
       {t<float>({1, 4, 1}, {1, 2, 3, 4}), i({1, 2}), i({2, 2})},
       t<float>({1, 1, 1, 2}, {3, 4})},
      // Cells that no block covers are 0.
      {{.strides = {1, 3}},
       {t<float>({1, 1, 2}, {1, 2}), i({1, 4}), i({1, 1})},
       t<float>({1, 1, 1, 4}, {1, 0, 0, 2})},
      // Images, channels, and other numbers of axes.
      {{},
       {t<float>({2, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8}), i({2}), i({2})},
       t<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
      {{},
       {t<float>({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), i({2, 2, 2}), i({1, 1, 2})},
       t<float>({1, 1, 2, 2, 2}, {1, 5, 2, 6, 3, 7, 4, 8})},
      {{}, {t<float>({0, 4, 2}, {}), i({2, 3}), i({2, 2})}, t<float>({0, 1, 2, 3}, {})},
      {{}, {t<float>({1, 0, 2}, {}), i({2, 3}), i({2, 2})}, t<float>({1, 0, 2, 3}, {})},
      // Every kind of type.
      {{},
       {t<int8_t>({1, 2, 2}, {100, 2, 3, 4}), i({1, 3}), i({1, 2})},
       t<int8_t>({1, 1, 1, 3}, {100, 5, 4})},
      {{},
       {t<uint8_t>({1, 2, 2}, {1, 200, 100, 4}), i({1, 3}), i({1, 2})},
       t<uint8_t>({1, 1, 1, 3}, {1, 44, 4})},
      {{}, {t<int64_t>({1, 2, 2}, {1, 2, 3, 4}), i({1, 3}), i({1, 2})}, t<int64_t>({1, 1, 1, 3}, {1, 5, 4})},
      {{}, {t<double>({1, 2, 2}, {1, 2, 3, 4}), i({1, 3}), i({1, 2})}, t<double>({1, 1, 1, 3}, {1, 5, 4})},
      {{},
       {cast<float16>({1, 2, 2}, {1, 2, 3, 4}), i({1, 3}), i({1, 2})},
       cast<float16>({1, 1, 1, 3}, {1, 5, 4})},
      {{},
       {cast<bfloat16>({1, 2, 2}, {1, 2, 3, 4}), i({1, 3}), i({1, 2})},
       cast<bfloat16>({1, 1, 1, 3}, {1, 5, 4})},
      {{},
       {t<bool>({1, 2, 2}, {true, true, true, false}), i({1, 3}), i({1, 2})},
       t<bool>({1, 1, 1, 3}, {true, true, false})},
      {{},
       {t<complex64>({1, 2, 2}, {{1, 1}, {2, 1}, {3, 1}, {4, 1}}), i({1, 3}), i({1, 2})},
       t<complex64>({1, 1, 1, 3}, {{1, 1}, {5, 2}, {4, 1}})},
      {{},
       {t<std::string>({1, 2, 2}, {"a", "b", "c", "d"}), i({1, 3}), i({1, 2})},
       t<std::string>({1, 1, 1, 3}, {"a", "bc", "d"})},
  };
  for (const Row& row : rows) {
    CAPTURE(&row - rows);
    check(row.op, row.in, {row.out});
  }
}

TEST_CASE("Col2Im: errors") {
  const auto i = [](std::initializer_list<int64_t> v) {
    return t<int64_t>({static_cast<int64_t>(v.size())}, v);
  };
  const Value x = t<float>({1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const op::Col2Im plain;
  check_fails(plain, {x, i({2, 4}), i({2, 2})}, "input (1,4,2) does not have the columns of 3 blocks");
  check_fails(plain, {x, i({2, 4}), i({1, 3})}, "4 rows do not divide into blocks (1,3)");
  check_fails(plain, {x, i({2, 1}), i({2, 2})}, "blocks (2,2) do not fit into an image (2,1) along axis 1");
  check_fails(plain, {x, i({2, 3}), i({2})}, "lengths of image_shape and block_shape differ: 2 and 1");
  check_fails(plain, {x, i({2, 3}), i({2, 0})}, "kernel (2,0) is empty");
  check_fails(plain, {x, i({2, -3}), i({2, 2})}, "image_shape: -3, expected at least 0");
  check_fails(plain, {x, i({INT64_MAX, 3}), i({2, 2})}, "is too large");
  check_fails(plain, {x, i({2, 3}), i({2, INT64_MAX})}, "is too large");
  check_fails(plain, {x, i({}), i({})}, "image_shape has no elements");
  check_fails(plain, {x, t<int64_t>({1, 2}, {2, 3}), i({2, 2})}, "image_shape: rank 2, expected 1");
  check_fails(plain, {t<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), i({2, 3}), i({2, 2})},
              "input: rank 2, expected 3");
  check_fails(op::Col2Im{.strides = {1}}, {x, i({2, 3}), i({2, 2})}, "strides: 1 entries, expected 2");
  check_fails(op::Col2Im{.pads = {0, 0, 0, -1}}, {x, i({2, 3}), i({2, 2})}, "pads holds -1");
  check_fails(plain, {x, i({1 << 30, 1 << 30, 1 << 30}), i({1, 1, 1})}, "is too large");
}

TEST_CASE("Col2Im: symbols, and typed") {
  const auto n = Dim::symbol(1);
  const Dim u;
  const op::Col2Im plain;
  CHECK(infer(plain, {info(DType::float32, {n, 12, 4}), info(DType::int64, {2}, {4, 2}),
                      info(DType::int64, {2}, {3, 1})})[0]
            .dims == Dims{n, 4, 4, 2});
  CHECK(infer(plain, {info(DType::float32, {n, 12, 4}), info(DType::int64, {2}), info(DType::int64, {2})})[0]
            .dims == Dims{n, u, u, u});
  CHECK_FALSE(
      infer(plain, {info(DType::float32, {n, 12, 4}), info(DType::int64, {u}), info(DType::int64, {u})})[0]
          .dims.ranked());
  // The lists tell how many axes there are, where image_shape and block_shape do not.
  CHECK(infer(op::Col2Im{.strides = {2, 2}},
              {info(DType::float32, {n, 12, 4}), info(DType::int64, {u}), info(DType::int64, {u})})[0]
            .dims == Dims{n, u, u, u});
  Tensor<float, Shape<1, 2, 2>> x{{{1, 2}, {3, 4}}};
  const auto y = apply<op::Col2Im{}>(x, constant<int64_t, 1, 3>, constant<int64_t, 1, 2>);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 1, 1, 3>>>);
  CHECK(y(0, 0, 0, 1) == 5);
}
}  // namespace tenon
