#include "tenon/op/nn/max_roi_pool.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("MaxRoiPool: cases") {
  const Value x = t<float>({1, 1, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const float nan = std::nanf("");
  const op::MaxRoiPool one{.pooled_shape = {1, 1}}, two{.pooled_shape = {2, 2}};
  struct Row {
    op::MaxRoiPool op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      {one, {x, t<float>({2, 5}, {0, 0, 0, 3, 2, 0, 1, 0, 2, 1})}, t<float>({2, 1, 1, 1}, {12, 7})},
      {two, {x, t<float>({1, 5}, {0, 0, 0, 3, 1})}, t<float>({1, 1, 2, 2}, {2, 4, 6, 8})},
      // Bins overlap where they divide cells.
      {two, {x, t<float>({1, 5}, {0, 0, 0, 2, 2})}, t<float>({1, 1, 2, 2}, {6, 7, 10, 11})},
      // Ends are rounded after scaling, and a region of no extent has one cell.
      {{.pooled_shape = {1, 1}, .spatial_scale = 0.5f},
       {x, t<float>({2, 5}, {0, 1, 1, 1, 1, 0, 6, 4, 2, 2})},
       t<float>({2, 1, 1, 1}, {6, 12})},
      // Outside of the image, and half outside.
      {one, {x, t<float>({2, 5}, {0, 5, 5, 6, 6, 0, -2, -2, 0, 0})}, t<float>({2, 1, 1, 1}, {0, 1})},
      // Regions that reach far.
      {two,
       {x, t<float>({2, 5}, {0, -1e30f, 0, 1e30f, 2, 0, 0, 0, INFINITY, 0})},
       t<float>({2, 1, 2, 2}, {0, 8, 0, 12, 4, 0, 4, 0})},
      // Images and channels. Numbers of images are truncated.
      {one,
       {t<float>({2, 2, 1, 1}, {1, 2, -3, 4}), t<float>({2, 5}, {1.5f, 0, 0, 0, 0, -0.5f, 0, 0, 0, 0})},
       t<float>({2, 2, 1, 1}, {-3, 4, 1, 2})},
      {one,
       {t<float>({1, 2, 1, 2}, {nan, -5, nan, nan}), t<float>({1, 5}, {0, 0, 0, 1, 0})},
       t<float>({1, 2, 1, 1}, {nan, nan})},
      {two, {x, t<float>({0, 5}, {})}, t<float>({0, 1, 2, 2}, {})},
      {one, {t<float>({1, 1, 0, 2}, {}), t<float>({1, 5}, {0, 0, 0, 1, 1})}, t<float>({1, 1, 1, 1}, {0})},
      {one, {t<float>({1, 0, 2, 2}, {}), t<float>({1, 5}, {0, 0, 0, 1, 1})}, t<float>({1, 0, 1, 1}, {})},
      {one,
       {t<double>({1, 1, 1, 2}, {1, 2}), t<double>({1, 5}, {0, 0, 0, 1, 0})},
       t<double>({1, 1, 1, 1}, {2})},
      {one,
       {cast<float16>({1, 1, 1, 2}, {1, 2}), cast<float16>({1, 5}, {0, 0, 0, 1, 0})},
       cast<float16>({1, 1, 1, 1}, {2})},
      {one,
       {cast<bfloat16>({1, 1, 1, 2}, {1, 2}), cast<bfloat16>({1, 5}, {0, 0, 0, 1, 0})},
       cast<bfloat16>({1, 1, 1, 1}, {2})},
  };
  for (const Row& row : rows) check(row.op, row.in, {row.out}, 0, 0);
  check(one, rows[0].in, {rows[0].out}, 0, 0, 1);
}

TEST_CASE("MaxRoiPool: errors, symbols, and typed") {
  const op::MaxRoiPool one{.pooled_shape = {1, 1}};
  const Value x = t<float>({1, 1, 1, 1}, {1});
  const auto roi = [](float image, float left) { return t<float>({1, 5}, {image, left, 0, 0, 0}); };
  check_fails(one, {x, roi(1, 0)}, "region 0 names an image outside [0, 0]");
  check_fails(one, {x, roi(-1, 0)}, "outside [0, 0]");
  check_fails(one, {x, roi(std::nanf(""), 0)}, "outside [0, 0]");
  check_fails(one, {x, roi(0, std::nanf(""))}, "a coordinate of region 0 is NaN");
  check_fails(one, {x, t<float>({1, 4}, {0, 0, 0, 0})}, "rois (1,4) does not have rows of 5 numbers");
  check_fails(one, {x, t<float>({5}, {0, 0, 0, 0, 0})}, "rois: rank 1, expected 2");
  check_fails(one, {t<float>({1, 1, 1}, {0}), roi(0, 0)}, "X: rank 3, expected 4");
  check_fails(op::MaxRoiPool{}, {x, roi(0, 0)}, "pooled_shape: 0 entries, expected 2");
  check_fails(op::MaxRoiPool{.pooled_shape = {1, 0}}, {x, roi(0, 0)}, "pooled_shape: 0, expected at least 1");
  check_fails(one, {cast<bfloat16>({1, 1, 1, 1}, {1}), cast<bfloat16>({1, 5}, {0, 0, 0, 0, 0})},
              "input X cannot be tensor(bfloat16)", 1, 1);
  const auto r = Dim::symbol(1), c = Dim::symbol(2);
  CHECK(infer(one, {info(DType::float32, {Dim(), c, 5, 5}), info(DType::float32, {r, 5})})[0].dims ==
        Dims{r, c, 1, 1});
  CHECK(infer(one, {info(DType::float32, Dims()), info(DType::float32, Dims())})[0].dims ==
        Dims{Dim(), Dim(), 1, 1});
  Tensor<float, Shape<1, 1, 1, 2>> a{{{{1, 2}}}};
  Tensor<float, Shape<1, 5>> rois{{0, 0, 0, 1, 0}};
  const auto y = apply<op::MaxRoiPool{.pooled_shape = {1, 1}}>(a, rois);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 1, 1, 1>>>);
  CHECK(y.item() == 2);
}
}  // namespace tenon
