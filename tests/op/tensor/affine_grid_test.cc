#include "tenon/op/tensor/affine_grid.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("AffineGrid: cases") {
  const Value same = t<float>({1, 2, 3}, {1, 0, 0, 0, 1, 0});
  struct Row {
    int64_t align;
    Value theta, size, out;
  } rows[] = {
      {0, same, t<int64_t>({4}, {1, 9, 2, 2}), t<float>({1, 2, 2, 2}, {-.5, -.5, .5, -.5, -.5, .5, .5, .5})},
      {1, same, t<int64_t>({4}, {1, 9, 2, 3}),
       t<float>({1, 2, 3, 2}, {-1, -1, 0, -1, 1, -1, -1, 1, 0, 1, 1, 1})},
      {1, same, t<int64_t>({4}, {1, 1, 1, 1}), t<float>({1, 1, 1, 2}, {-1, -1})},
      {0, same, t<int64_t>({4}, {1, 1, 0, 3}), t<float>({1, 0, 3, 2}, {})},
      {0, t<float>({2, 2, 3}, {2, 3, 5, 7, 11, 13, 0, 0, 1, 0, 0, 2}), t<int64_t>({4}, {2, 1, 1, 2}),
       t<float>({2, 1, 2, 2}, {4, 9.5, 6, 16.5, 1, 2, 1, 2})},
      {1, t<double>({1, 3, 4}, {1, 0, 0, 10, 0, 1, 0, 20, 0, 0, 1, 30}), t<int64_t>({5}, {1, 1, 2, 1, 2}),
       t<double>({1, 2, 1, 2, 3}, {9, 19, 29, 11, 19, 29, 9, 19, 31, 11, 19, 31})},
      {0, cast<float16>({1, 2, 3}, {1, 0, 0, 0, 1, 0}), t<int64_t>({4}, {1, 1, 1, 2}),
       cast<float16>({1, 1, 2, 2}, {-.5, 0, .5, 0})},
      {0, cast<bfloat16>({1, 2, 3}, {1, 0, 0, 0, 1, 0}), t<int64_t>({4}, {1, 1, 1, 2}),
       cast<bfloat16>({1, 1, 2, 2}, {-.5, 0, .5, 0})},
  };
  for (const Row& row : rows)
    check(op::AffineGrid{.align_corners = row.align}, {row.theta, row.size}, {row.out});
}

TEST_CASE("AffineGrid: errors, symbols, typed") {
  const Value theta = t<float>({1, 2, 3}, {1, 0, 0, 0, 1, 0});
  check_fails(op::AffineGrid{}, {t<float>({2, 3}, {1, 0, 0, 0, 1, 0}), t<int64_t>({4}, {1, 1, 1, 1})},
              "theta: rank 2");
  check_fails(op::AffineGrid{}, {theta, t<int64_t>({}, {1})}, "size: rank 0, expected 1");
  check_fails(op::AffineGrid{}, {theta, t<int64_t>({5}, {1, 1, 1, 1, 1})},
              "axes of theta and size differ: 2 and 3");
  check_fails(op::AffineGrid{}, {theta, t<int64_t>({4}, {2, 1, 1, 1})},
              "batches of theta and size differ: 1 and 2");
  check_fails(op::AffineGrid{}, {theta, t<int64_t>({4}, {1, 1, -1, 1})}, "size: -1, expected at least 0");
  check_fails(op::AffineGrid{}, {theta, t<int64_t>({4}, {1, 1, INT64_MAX, INT64_MAX})}, "overflow");
  check_fails(op::AffineGrid{}, {t<float>({1, 1, 2}, {1, 0}), t<int64_t>({3}, {1, 1, 1})},
              "theta maps 1 axes");
  check_fails(op::AffineGrid{}, {t<float>({1, 2, 2}, {1, 0, 0, 1}), t<int64_t>({4}, {1, 1, 1, 1})},
              "rows of theta");
  const auto n = Dim::symbol(1);
  CHECK(infer(op::AffineGrid{}, {info(DType::float32, {n, 2, 3}), info(DType::int64, {4})})[0].dims ==
        Dims{n, Dim(), Dim(), 2});
  CHECK(
      infer(op::AffineGrid{}, {info(DType::float32, {}), info(DType::int64, {5}, {1, 2, 3, 4, 5})})[0].dims ==
      Dims{1, 3, 4, 5, 3});
  auto y = op::AffineGrid{}(Tensor<float, Shape<1, 2, 3>>{{{{1, 0, 0}, {0, 1, 0}}}},
                            constant<int64_t, 1, 1, 1, 2>);
  CHECK(y[0] == -0.5f);
}
}  // namespace tenon
