// GridSample: elements at the places that a grid names.   onnx.ai/onnx/operators/onnx__GridSample.html
#pragma once

#include "tenon/kernels/resize/grid_sample.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// X (N, C, D1, …, Dk) at the points of grid (N, E1, …, Ek, k) gives Y (N, C, E1, …, Ek). A point (x, y, …)
/// begins with the last axis. Its coordinates -1 and 1 are the outer edges of an axis, or with
/// `align_corners` the middles of the outermost elements. Integers are computed as real numbers and
/// truncated. op::GridSample{}(x, grid) of (1,3,8,8) and (1,4,5,2) gives (1,3,4,5).
struct GridSample {
  int64_t align_corners = 0;
  Str mode = "linear";         ///< linear, nearest, cubic; before 20 bilinear, nearest, bicubic
  Str padding_mode = "zeros";  ///< what lies outside: zeros, border, reflection

  static constexpr Spec spec{.name = "GridSample",
                             .since = {16, 20, 22},
                             .inputs = {{"X", "T1"}, {"grid", "T2"}},
                             .outputs = {{"Y", "T1"}},
                             .types = {{"T1", {{16, types::all}, {22, types::all_ir4}}},
                                       {"T2", {{16, types::floats}, {22, types::floats_bf16}}}}};
  static constexpr Attributes attributes{
      attr("align_corners", &GridSample::align_corners).flag(), attr("mode", &GridSample::mode),
      attr("padding_mode", &GridSample::padding_mode), initially(&GridSample::mode, "bilinear").until(19)};

  constexpr void infer(Infer& i) const {
    const bool old = i.version() < 20;
    if (!i.expect_choice("mode", mode, {old ? "bilinear" : "linear", "nearest", old ? "bicubic" : "cubic"}))
      return;
    if (!i.expect_choice("padding_mode", padding_mode, {"zeros", "border", "reflection"})) return;
    if (mode != "nearest" && i.dtype(0) == DType::string) return i.fail_type("strings have no '", mode, "'");
    const Dims &x = i.dims(0), &grid = i.dims(1);
    if (!(old ? i.expect_rank(0, 4) && i.expect_rank(1, 4) : i.expect_rank_at_least(0, 3))) return;
    if (!x.ranked() && !grid.ranked()) return old ? i.out(0, Dims::of_rank(4)) : void();
    const int rank = x.ranked() ? x.rank() : grid.rank();
    if (rank - 2 > max_spatial) return i.fail("more than ", max_spatial, " axes to sample");
    if (!i.expect_rank_at_least(1, 3) || !i.expect_rank(1, rank)) return;
    Dims y = Dims::of_rank(rank);
    if (x.ranked()) y[0] = x[0], y[1] = x[1];
    if (grid.ranked()) {
      y[0] = i.unify(y[0], grid[0], "batches of X and grid");
      if (grid[rank - 1].differs(rank - 2))
        return i.fail("grid ", grid, " has points of ", grid[rank - 1], " coordinates for ", rank - 2,
                      " axes");
      for (int d = 2; d < rank; ++d) y[d] = grid[d - 1];
    }
    i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> x, AnyView grid, TensorView<T> y) const {
    if (y.empty()) return;
    using kernels::SampleMode, kernels::SamplePadding;
    kernels::grid_sample<T>({.mode = mode == "nearest"                      ? SampleMode::nearest
                                     : mode == "cubic" || mode == "bicubic" ? SampleMode::cubic
                                                                            : SampleMode::linear,
                             .padding = padding_mode == "zeros"    ? SamplePadding::zeros
                                        : padding_mode == "border" ? SamplePadding::border
                                                                   : SamplePadding::reflection,
                             .align_corners = align_corners != 0,
                             .axes = x.rank() - 2,
                             .extents = x.extents().data() + 2,
                             .batch = x.extent(0),
                             .channels = x.extent(1),
                             .count = extent_product(y.extents().subspan(2)),
                             .type = grid.dtype(),
                             .points = grid.data()},
                            x.data(), y.data());
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::GridSample)
