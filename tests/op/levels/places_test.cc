// Which cells are read does not depend on flags by which a compiler may contract a product and a sum: places
// are rounded to whole cells.
#include <doctest/doctest.h>

#include <cmath>

#include "tenon/op/families/resize.hpp"
#include "tenon/op/object_detection/roi_align.hpp"

using namespace tenon;

TEST_CASE("RoiAlign: as many samples as a region has cells") {
  Tensor<float, Shape<1, 1, 8, 8>> x;
  for (int64_t k = 0; k < x.size(); ++k) x.data()[k] = static_cast<float>(k / 8 * (k / 8));
  // Regions one cell high, whose ends are rounded: one sample in the middle.
  const Tensor<float, Shape<2, 4>> rois{{{21, 21, 31, 31}, {61, 61, 71, 71}}};
  const Tensor<int64_t, Shape<2>> images{{0, 0}};
  const auto y = op::RoiAlign{.spatial_scale = 0.1f}(x, rois, images);
  CHECK(std::abs(y.data()[0] - 4.5f) < 1e-3f);
  CHECK(std::abs(y.data()[1] - 37.3f) < 1e-3f);
}

TEST_CASE("Resize: the middle of half_pixel_symmetric is the middle") {
  Tensor<float, Shape<29>> x;
  for (int64_t k = 0; k < x.size(); ++k) x.data()[k] = static_cast<float>(k);
  Tensor<float, Shape<3>> y;
  const op::ResizeAxis axis{.in = 29, .out = 3, .scale = double{0.13333334f}};
  op::resize<float>(
      x.view(), y.view(),
      {.nearest = op::NearestMode::floor, .coordinates = op::ResizeCoordinates::half_pixel_symmetric}, &axis);
  CHECK(y.data()[1] == 14);
}
