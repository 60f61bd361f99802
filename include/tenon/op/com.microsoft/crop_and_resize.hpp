// CropAndResize: boxes of images, each resized to one size.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.CropAndResize
#pragma once

#include <cmath>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/uncontracted.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// TensorFlow's operator: Y (R, C, height, width) from X (N, C, H, W), rois (R, 4), whose rows are (top,
/// left, bottom, right) as shares of the distance between the centres of an image's first and last cells, the
/// images of the boxes, batch_indices (R), and crop_size, (height, width). The first and the last sample of
/// an axis lie on the box's edges; one alone lies in the middle. Samples outside of the image are
/// extrapolation_value. op::com_microsoft::CropAndResize{}(x, rois, images, constant<int32_t, 2, 3>) of
/// (1,3,8,8), (5,4) and (5) gives (5,3,2,3).
struct CropAndResize {
  float extrapolation_value = 0;
  Str mode = "bilinear";  ///< bilinear, nearest

  static constexpr Spec spec{
      .name = "CropAndResize",
      .domain = "com.microsoft",
      .since = {1},
      .inputs = {{"X", "T1"}, {"rois", "T1"}, {"batch_indices", "T2"}, {"crop_size", "T2"}},
      .outputs = {{"Y", "T1"}},
      .types = {{"T1", types::floats}, {"T2", types::int32}}};
  static constexpr Attributes attributes{attr("extrapolation_value", &CropAndResize::extrapolation_value),
                                         attr("mode", &CropAndResize::mode)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("mode", mode, {"bilinear", "nearest"}) || !i.expect_rank(0, 4) ||
        !i.expect_rank(1, 2) || !i.expect_rank(2, 1) || !i.expect_rank(3, 1) || !i.expect_extents(3, {2}))
      return;
    Dims y = Dims::of_rank(4);
    if (i.ranked(0)) y[1] = i.dims(0)[1];
    if (i.ranked(1)) {
      y[0] = i.dims(1)[0];
      if (i.dims(1)[1].differs(4)) return i.fail("rois ", i.dims(1), " does not have rows of 4 numbers");
    }
    if (i.ranked(2)) y[0] = i.unify(y[0], i.dims(2)[0], "numbers of rois and of batch_indices");
    for (int k = 0; k < 2 && i.has_elements(3); ++k) {
      y[2 + k] = i.element(3, k);
      if (y[2 + k].below(1)) return i.fail("crop_size holds ", y[2 + k]);
    }
    if (!i.failed()) i.out(0, y);
  }
  /// Error{out_of_range} for an image that does not exist.
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> rois, TensorView<const int32_t> batch_indices,
               TensorView<const int32_t>, TensorView<T> y) const {
    for (const int32_t image : batch_indices)
      if (image < 0 || image >= x.extent(0))
        raise(ErrorCode::out_of_range, spec.name, "batch index ", image, " outside of [0, ", x.extent(0) - 1,
              "]");
    const int64_t rows = y.extent(2), columns = y.extent(3);
    const int64_t grain =
        std::max<int64_t>(1, task_work::cheap / std::max<int64_t>(1, columns * y.extent(1)));
    parallel_for(y.extent(0) * rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t roi = k / rows, row = k % rows;
        float edges[4];
        for (int e = 0; e < 4; ++e) edges[e] = static_cast<float>(rois[roi * 4 + e]);
        const Sample v = sample(edges[0], edges[2], row, rows, x.extent(2));
        for (int64_t column = 0; column < columns; ++column) {
          const Sample h = sample(edges[1], edges[3], column, columns, x.extent(3));
          for (int64_t c = 0; c < x.extent(1); ++c) {
            const T* plane = x.data() + (batch_indices[roi] * x.extent(1) + c) * x.extent(2) * x.extent(3);
            y[((roi * x.extent(1) + c) * rows + row) * columns + column] =
                v.inside && h.inside ? T(at(plane, x.extent(3), v, h)) : T(extrapolation_value);
          }
        }
      }
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// A place of an axis: between two cells, or at the nearest one.
  struct Sample {
    bool inside = false;
    int64_t first = 0, second = 0;
    float share = 0;  ///< of the second
  };
  Sample sample(float start, float stop, int64_t k, int64_t count, int64_t extent) const {
    const auto last = static_cast<float>(extent - 1);
    auto place = static_cast<float>(0.5 * (start + stop) * last);
    if (count > 1) {
      const float step = (stop - start) * last / static_cast<float>(count - 1);
      place = k == count - 1 ? stop * last
                             : uncontracted(start * last) + uncontracted(static_cast<float>(k) * step);
    }
    if (!(place >= 0 && place <= last)) return {};
    // Floats do not tell the places of long axes apart.
    const auto cell_at = [&](float p) { return std::min(static_cast<int64_t>(p), extent - 1); };
    if (mode == "nearest") return {true, cell_at(std::round(place)), cell_at(std::round(place)), 0};
    const float cell = std::floor(place);
    return {true, cell_at(cell), cell_at(std::ceil(place)), place - cell};
  }
  template <class T>
  static compute_t<T> at(const T* plane, int64_t width, const Sample& v, const Sample& h) {
    using C = compute_t<T>;
    const auto between = [](C a, C b, float share) {
      return a + uncontracted((b - a) * static_cast<C>(share));
    };
    const auto along = [&](int64_t row) {
      const T* cells = plane + row * width;
      return between(static_cast<C>(cells[h.first]), static_cast<C>(cells[h.second]), h.share);
    };
    return between(along(v.first), along(v.second), v.share);
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::CropAndResize)
