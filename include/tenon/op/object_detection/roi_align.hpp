// RoiAlign: interpolated samples of each bin of each region, averaged.
// onnx.ai/onnx/operators/onnx__RoiAlign.html
#pragma once

#include <cmath>

#include "tenon/base/convert.hpp"
#include "tenon/base/platform/uncontracted.hpp"
#include "tenon/kernels/roi.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// Y (R, C, output_height, output_width) from X (N, C, H, W), rois (R, 4), whose rows are (left, top, right,
/// bottom), and the images of the regions, batch_indices (R). Coordinates are multiplied by spatial_scale;
/// half_pixel subtracts 0.5, output_half_pixel makes each side at least 1. A bin is the mean, or by mode max
/// the greatest weighted cell, of sampling_ratio samples along both axes; 0 means one per cell, rounded up.
/// op::RoiAlign{.output_height = 2, .output_width = 2}(x, rois, images) of (1,3,8,8), (5,4) and (5) gives
/// (5,3,2,2).
struct RoiAlign {
  Str coordinate_transformation_mode = "half_pixel";
  Str mode = "avg";
  int64_t output_height = 1;
  int64_t output_width = 1;
  int64_t sampling_ratio = 0;
  float spatial_scale = 1;

  static constexpr Spec spec{
      .name = "RoiAlign",
      .since = {10, 16, 22},
      .inputs = {{"X", "T1"}, {"rois", "T1"}, {"batch_indices", "T2"}},
      .outputs = {{"Y", "T1"}},
      .types = {{"T1", {{10, types::floats}, {22, types::floats_bf16}}}, {"T2", types::int64}},
      .workspace = Workspace::unplanned};
  static constexpr Attributes attributes{
      attr("coordinate_transformation_mode", &RoiAlign::coordinate_transformation_mode).since(16),
      initially(&RoiAlign::coordinate_transformation_mode, "output_half_pixel").until(15),
      attr("mode", &RoiAlign::mode),
      attr("output_height", &RoiAlign::output_height),
      attr("output_width", &RoiAlign::output_width),
      attr("sampling_ratio", &RoiAlign::sampling_ratio),
      attr("spatial_scale", &RoiAlign::spatial_scale)};

  /// The most samples of a region along an axis, if a bin has more than one.
  static constexpr int64_t most_samples = int64_t{1} << 22;

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("coordinate_transformation_mode", coordinate_transformation_mode,
                         {"half_pixel", "output_half_pixel"}) ||
        !i.expect_choice("mode", mode, {"avg", "max"}) ||
        !i.expect_at_least("output_height", output_height, 1) ||
        !i.expect_at_least("output_width", output_width, 1) ||
        !i.expect_at_least("sampling_ratio", sampling_ratio, 0))
      return;
    if (sampling_ratio > 1 && sampling_ratio > most_samples / std::max(output_height, output_width))
      return i.fail("sampling_ratio ", sampling_ratio, " is too large");
    if (!i.expect_rank(0, 4) || !i.expect_rank(1, 2) || !i.expect_rank(2, 1)) return;
    Dim regions;
    if (i.ranked(1)) {
      regions = i.dims(1)[0];
      if (i.dims(1)[1].differs(4)) return i.fail("rois ", i.dims(1), " does not have rows of 4 numbers");
    }
    if (i.ranked(2)) regions = i.unify(regions, i.dims(2)[0], "numbers of rois and of batch_indices");
    i.out(0, Dims{regions, i.ranked(0) ? i.dims(0)[1] : Dim(), output_height, output_width});
  }
  /// Error{out_of_range} for an image that does not exist, for coordinates that are not finite, and for a
  /// region of too many samples.
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> rois, TensorView<const int64_t> batch_indices,
               TensorView<T> y) const {
    using C = compute_t<T>;
    const int64_t regions = rois.extent(0);
    for (int64_t image : batch_indices)
      if (image < 0 || image >= x.extent(0))
        raise(ErrorCode::out_of_range, spec.name, "batch index ", image, " outside of [0, ", x.extent(0) - 1,
              "]");
    Scratch scratch;
    const C* rows = widen(scratch, rois.data(), rois.size());
    auto* samples = scratch.take<kernels::RoiRegion<C>>(regions);
    for (int64_t r = 0; r < regions; ++r)
      samples[r] = {.vertical = along(rows + 4 * r + 1, output_height),
                    .horizontal = along(rows + 4 * r, output_width)};
    if (y.empty()) return;
    if (x.empty()) {
      std::fill_n(y.data(), y.size(), T{});
      return;
    }
    kernels::RoiPoolArgs<C> args;
    args.x = widen(scratch, x.data(), x.size());
    args.y = wide_result(scratch, y.data(), y.size());
    args.regions = regions, args.channels = x.extent(1);
    args.height = x.extent(2), args.width = x.extent(3);
    args.out_height = output_height, args.out_width = output_width;
    args.image = batch_indices.data();
    kernels::roi_align(args, samples, mode == "max");
    narrow(args.y, y.data(), y.size());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// The samples along the axis on which a region reaches from ends[0] to ends[2].
  template <class C>
  kernels::RoiSamples<C> along(const C* ends, int64_t bins) const {
    const bool half_pixel = coordinate_transformation_mode == "half_pixel";
    const C scale = static_cast<C>(spatial_scale), shift = half_pixel ? C(0.5) : C(0);
    kernels::RoiSamples<C> s{.start = uncontracted(ends[0] * scale) - shift};
    C length = uncontracted(ends[2] * scale) - shift - s.start;
    if (!half_pixel && length < 1) length = 1;
    s.size = length / static_cast<C>(bins);
    if (!std::isfinite(s.start) || !std::isfinite(length) ||
        (sampling_ratio == 0 && length > C(most_samples)))
      raise(ErrorCode::out_of_range, spec.name, "a region from ", convert<std::string>(ends[0]), " to ",
            convert<std::string>(ends[2]), " is too large");
    s.grid = sampling_ratio > 0 ? sampling_ratio : static_cast<int64_t>(std::ceil(std::max<C>(s.size, 0)));
    return s;
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::RoiAlign)
