#include "tenon/op/object_detection/roi_align.hpp"

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("RoiAlign: cases") {
  const Value x = t<float>({1, 1, 2, 3}, {1, 2, 3, 5, 6, 7}), first = t<int64_t>({1}, {0});
  const op::RoiAlign one{.sampling_ratio = 1},
      from_corner{.coordinate_transformation_mode = "output_half_pixel", .sampling_ratio = 1};
  struct Row {
    op::RoiAlign op;
    std::vector<Value> in;
    Value out;
  } rows[] = {
      // The centre of (0, 0) to (2, 2) less half a pixel is (0.5, 0.5).
      {one, {x, t<float>({1, 4}, {0, 0, 2, 2}), first}, t<float>({1, 1, 1, 1}, {3.5f})},
      {from_corner, {x, t<float>({1, 4}, {0, 0, 1, 1}), first}, t<float>({1, 1, 1, 1}, {3.5f})},
      // A side of no length is made 1.
      {from_corner, {x, t<float>({1, 4}, {0, 0, 0, 0}), first}, t<float>({1, 1, 1, 1}, {3.5f})},
      {{.output_height = 2, .output_width = 2, .sampling_ratio = 1},
       {x, t<float>({1, 4}, {0, 0, 2, 2}), first},
       t<float>({1, 1, 2, 2}, {1, 2, 5, 6})},
      // One sample a cell.
      {{}, {x, t<float>({1, 4}, {0, 0, 3, 2}), first}, t<float>({1, 1, 1, 1}, {4})},
      {{.spatial_scale = 0.5f}, {x, t<float>({1, 4}, {0, 0, 6, 4}), first}, t<float>({1, 1, 1, 1}, {4})},
      // Samples up to a cell outside have the border's value, all others are 0.
      {one, {x, t<float>({1, 4}, {-0.5f, -0.5f, 0.5f, 0.5f}), first}, t<float>({1, 1, 1, 1}, {1})},
      {{.sampling_ratio = 2},
       {x, t<float>({1, 4}, {-3, 0.5f, 1, 0.5f}), first},
       t<float>({1, 1, 1, 1}, {0.5f})},
      // Without samples.
      {{}, {x, t<float>({1, 4}, {2, 2, 1, 1}), first}, t<float>({1, 1, 1, 1}, {0})},
      // The greatest weighted cell.
      {{.mode = "max", .sampling_ratio = 1},
       {x, t<float>({1, 4}, {0, 0, 2, 2}), first},
       t<float>({1, 1, 1, 1}, {1.5f})},
      {{.mode = "max"}, {x, t<float>({1, 4}, {0, 0, 3, 2}), first}, t<float>({1, 1, 1, 1}, {7})},
      {{.mode = "max", .sampling_ratio = 1},
       {t<float>({1, 1, 2, 2}, {-1, -2, -3, -4}), t<float>({1, 4}, {0, 0, 2, 2}), first},
       t<float>({1, 1, 1, 1}, {-0.25f})},
      {{.mode = "max", .sampling_ratio = 1},
       {x, t<float>({1, 4}, {9, 9, 10, 10}), first},
       t<float>({1, 1, 1, 1}, {0})},
      {{.mode = "max"}, {x, t<float>({1, 4}, {2, 2, 1, 1}), first}, t<float>({1, 1, 1, 1}, {0})},
      // Images and channels.
      {one,
       {t<float>({2, 2, 1, 1}, {1, 2, 3, 4}), t<float>({2, 4}, {0, 0, 1, 1, 0, 0, 1, 1}),
        t<int64_t>({2}, {1, 0})},
       t<float>({2, 2, 1, 1}, {3, 4, 1, 2})},
      {one, {x, t<float>({0, 4}, {}), t<int64_t>({0}, {})}, t<float>({0, 1, 1, 1}, {})},
      {one, {t<float>({1, 1, 0, 2}, {}), t<float>({1, 4}, {0, 0, 1, 1}), first}, t<float>({1, 1, 1, 1}, {0})},
      {one,
       {t<double>({1, 1, 1, 1}, {3}), t<double>({1, 4}, {0, 0, 1, 1}), first},
       t<double>({1, 1, 1, 1}, {3})},
      {one,
       {cast<float16>({1, 1, 1, 1}, {3}), cast<float16>({1, 4}, {0, 0, 1, 1}), first},
       cast<float16>({1, 1, 1, 1}, {3})},
      {one,
       {cast<bfloat16>({1, 1, 1, 1}, {3}), cast<bfloat16>({1, 4}, {0, 0, 1, 1}), first},
       cast<bfloat16>({1, 1, 1, 1}, {3})},
  };
  for (const Row& row : rows) {
    CAPTURE(&row - rows);
    check(row.op, row.in, {row.out});
  }
  // Before version 16 nothing is taken off, whatever the default is today.
  check(stated<op::RoiAlign>(10, {{"sampling_ratio", int64_t{1}}}), rows[1].in, {rows[1].out});
  check(stated<op::RoiAlign>(16, {{"sampling_ratio", int64_t{1}}}), rows[0].in, {rows[0].out});
}

TEST_CASE("RoiAlign: against one sample at a time") {
  constexpr int64_t h = 5, w = 7, bins = 3;
  Tensor<float> x(Extents{1, 1, h, w});
  for (int64_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k * 7919 % 101) - 50;
  const float rois[][4] = {
      {0, 0, 7, 5}, {-3, 1.25f, 4.5f, 9}, {2, 2, 2.5f, 2.125f}, {-1, -1, 20, 20}, {4, 3, 1, 1}};
  for (const auto& roi : rois)
    for (int64_t ratio : {0, 1, 3})
      for (bool greatest : {false, true}) {
        CAPTURE(roi[0]);
        CAPTURE(ratio);
        CAPTURE(greatest);
        Tensor<float> y(Extents{1, 1, bins, bins});
        const double top = roi[1] - 0.5, left = roi[0] - 0.5, height = (roi[3] - roi[1]) / bins,
                     width = (roi[2] - roi[0]) / bins;
        const auto grid = [&](double size) {
          return ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(size));
        };
        const int64_t rows = std::max<int64_t>(grid(height), 0), columns = std::max<int64_t>(grid(width), 0);
        for (int64_t i = 0; i < bins; ++i)
          for (int64_t j = 0; j < bins; ++j) {
            double sum = 0, most = rows * columns > 0 ? -1e30 : 0;
            for (int64_t r = 0; r < rows; ++r)
              for (int64_t c = 0; c < columns; ++c) {
                double v = top + (static_cast<double>(i) +
                                  (static_cast<double>(r) + 0.5) / static_cast<double>(rows)) *
                                     height;
                double u = left + (static_cast<double>(j) +
                                   (static_cast<double>(c) + 0.5) / static_cast<double>(columns)) *
                                      width;
                if (v < -1 || v > h || u < -1 || u > w) {
                  most = std::max(most, 0.0);
                  continue;
                }
                v = std::clamp(v, 0.0, h - 1.0), u = std::clamp(u, 0.0, w - 1.0);
                const auto a = static_cast<int64_t>(v), b = static_cast<int64_t>(u);
                for (int64_t k = 0; k < 4; ++k) {
                  const int64_t down = k / 2, right = k % 2;
                  const double weight =
                      (down ? v - static_cast<double>(a) : 1 - (v - static_cast<double>(a))) *
                      (right ? u - static_cast<double>(b) : 1 - (u - static_cast<double>(b)));
                  const double part = weight * x[std::min(a + down, h - 1) * w + std::min(b + right, w - 1)];
                  sum += part;
                  most = std::max(most, part);
                }
              }
            y[i * bins + j] = static_cast<float>(
                greatest ? most : sum / static_cast<double>(std::max<int64_t>(rows * columns, 1)));
          }
        check(op::RoiAlign{.mode = greatest ? "max" : "avg",
                           .output_height = bins,
                           .output_width = bins,
                           .sampling_ratio = ratio},
              {x.clone(), t<float>({1, 4}, {roi[0], roi[1], roi[2], roi[3]}), t<int64_t>({1}, {0})},
              {std::move(y)}, 1e-4, 1e-4);
      }
}

TEST_CASE("RoiAlign: errors, symbols, and typed") {
  const Value x = t<float>({1, 1, 1, 1}, {1}), roi = t<float>({1, 4}, {0, 0, 1, 1}),
              first = t<int64_t>({1}, {0});
  const op::RoiAlign plain;
  check_fails(plain, {x, roi, t<int64_t>({1}, {1})}, "batch index 1 outside of [0, 0]");
  check_fails(plain, {x, roi, t<int64_t>({1}, {-1})}, "batch index -1 outside of [0, 0]");
  for (float bad : {INFINITY, 1e30f, std::nanf("")})
    check_fails(plain, {x, t<float>({1, 4}, {0, 0, bad, 1}), first}, "is too large");
  check_fails(plain, {x, roi, t<int64_t>({2}, {0, 0})},
              "numbers of rois and of batch_indices differ: 1 and 2");
  check_fails(plain, {x, t<float>({1, 5}, {0, 0, 0, 1, 1}), first},
              "rois (1,5) does not have rows of 4 numbers");
  check_fails(plain, {t<float>({1, 1, 1}, {1}), roi, first}, "X: rank 3, expected 4");
  check_fails(plain, {x, roi, t<int64_t>({1, 1}, {0})}, "batch_indices: rank 2, expected 1");
  check_fails(op::RoiAlign{.mode = "min"}, {x, roi, first}, "mode: 'min', expected avg or max");
  check_fails(op::RoiAlign{.coordinate_transformation_mode = "pixel"}, {x, roi, first},
              "coordinate_transformation_mode: 'pixel', expected half_pixel or output_half_pixel");
  check_fails(op::RoiAlign{.output_height = 0}, {x, roi, first}, "output_height: 0, expected at least 1");
  check_fails(op::RoiAlign{.output_width = -1}, {x, roi, first}, "output_width: -1, expected at least 1");
  check_fails(op::RoiAlign{.sampling_ratio = -1}, {x, roi, first}, "sampling_ratio: -1, expected at least 0");
  check_fails(op::RoiAlign{.sampling_ratio = INT64_MAX}, {x, roi, first}, "is too large");
  check_fails(op::RoiAlign{.output_width = 1000, .sampling_ratio = 10000}, {x, roi, first}, "is too large");
  // A stated number of samples takes a region of any extent.
  check(op::RoiAlign{.output_width = 2, .sampling_ratio = 1}, {x, t<float>({1, 4}, {0, 0, 1e30f, 1}), first},
        {t<float>({1, 1, 1, 2}, {0, 0})});
  check_refused<op::RoiAlign>(10, {{"coordinate_transformation_mode", std::string("half_pixel")}},
                              "has no attribute");
  const auto r = Dim::symbol(1), c = Dim::symbol(2);
  CHECK(infer(op::RoiAlign{.output_height = 2, .output_width = 3},
              {info(DType::float32, {Dim(), c, 5, 5}), info(DType::float32, {Dim(), 4}),
               info(DType::int64, {r})})[0]
            .dims == Dims{r, c, 2, 3});
  Tensor<float, Shape<1, 1, 1, 2>> a{{{{1, 2}}}};
  Tensor<float, Shape<1, 4>> rois{{0, 0, 2, 1}};
  Tensor<int64_t, Shape<1>> images{0};
  const auto y = apply<op::RoiAlign{}>(a, rois, images);
  static_assert(std::is_same_v<decltype(y), const Tensor<float, Shape<1, 1, 1, 1>>>);
  CHECK(y.item() == 1.5f);
}
}  // namespace tenon
