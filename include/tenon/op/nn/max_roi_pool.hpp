// MaxRoiPool: the greatest element of each bin of each region.
// onnx.ai/onnx/operators/onnx__MaxRoiPool.html
#pragma once

#include <cmath>

#include "tenon/kernels/roi.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// Y (R, C, pooled_shape) from X (N, C, H, W) and rois (R, 5), whose rows are (image, left, top, right,
/// bottom): coordinates times spatial_scale are rounded, kept within 2^30, and both ends belong to the
/// region. A bin without a cell gives 0. op::MaxRoiPool{.pooled_shape = {2, 2}}(x, rois) of (1,3,8,8) and
/// (5,5) gives (5,3,2,2).
struct MaxRoiPool {
  Ints pooled_shape{};
  float spatial_scale = 1;

  static constexpr Spec spec{.name = "MaxRoiPool",
                             .since = {1, 22},
                             .inputs = {{"X", "T"}, {"rois", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", {{1, types::floats}, {22, types::floats_bf16}}}},
                             .workspace = Workspace::unplanned};
  static constexpr Attributes attributes{attr("pooled_shape", &MaxRoiPool::pooled_shape).required(),
                                         attr("spatial_scale", &MaxRoiPool::spatial_scale)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_rank(0, 4) || !i.expect_rank(1, 2)) return;
    if (!i.expect_entries("pooled_shape", pooled_shape.size(), 2)) return;
    for (int64_t p : pooled_shape)
      if (!i.expect_at_least("pooled_shape", p, 1)) return;
    if (i.ranked(1) && i.dims(1)[1].differs(5))
      return i.fail("rois ", i.dims(1), " does not have rows of 5 numbers");
    i.out(0, Dims{i.ranked(1) ? i.dims(1)[0] : Dim(), i.ranked(0) ? i.dims(0)[1] : Dim(), pooled_shape[0],
                  pooled_shape[1]});
  }
  /// Error{out_of_range} for an image that does not exist; Error{invalid_argument} for a coordinate that is
  /// NaN.
  template <class T>
  void compute(TensorView<const T> x, TensorView<const T> rois, TensorView<T> y) const {
    using C = compute_t<T>;
    const int64_t regions = rois.extent(0);
    Scratch scratch;
    const C* rows = widen(scratch, rois.data(), rois.size());
    auto* cells = scratch.take<kernels::RoiCells>(regions);
    auto* images = scratch.take<int64_t>(regions);
    for (int64_t r = 0; r < regions; ++r) {
      const C* row = rows + 5 * r;
      if (!(row[0] > -1 && row[0] < static_cast<C>(x.extent(0))))
        raise(ErrorCode::out_of_range, spec.name, "region ", r, " names an image outside [0, ",
              x.extent(0) - 1, "]");
      images[r] = static_cast<int64_t>(row[0]);
      const auto cell = [&](int k) {
        const C v = std::round(row[k] * static_cast<C>(spatial_scale));
        if (v != v) raise(ErrorCode::invalid_argument, spec.name, "a coordinate of region ", r, " is NaN");
        return static_cast<int64_t>(std::clamp<C>(v, -kernels::RoiCells::limit, kernels::RoiCells::limit));
      };
      cells[r] = {.top = cell(2), .left = cell(1), .bottom = cell(4), .right = cell(3)};
    }
    if (y.empty()) return;
    kernels::RoiPoolArgs<C> args;
    args.x = widen(scratch, x.data(), x.size());
    args.y = wide_result(scratch, y.data(), y.size());
    args.regions = regions, args.channels = x.extent(1);
    args.height = x.extent(2), args.width = x.extent(3);
    args.out_height = y.extent(2), args.out_width = y.extent(3);
    args.image = images;
    kernels::max_roi_pool(args, cells);
    narrow(args.y, y.data(), y.size());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::MaxRoiPool)
