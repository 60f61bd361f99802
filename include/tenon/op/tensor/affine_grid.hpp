// AffineGrid: sampling places of an affine map, for GridSample.
// onnx.ai/onnx/operators/onnx__AffineGrid.html
#pragma once

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// theta (N, 2, 3) and size (N, C, H, W) give grid (N, H, W, 2): theta times (x, y, 1), for the places x and
/// y of pixels in [-1, 1]. theta (N, 3, 4) and size (N, C, D, H, W) give (N, D, H, W, 3). With
/// `align_corners` -1 and 1 are the middles of the outermost pixels, else their outer edges.
/// op::AffineGrid{}(theta, constant<int64_t, 1, 3, 4, 5>) of (1,2,3) gives (1,4,5,2).
struct AffineGrid {
  int64_t align_corners = 0;

  // ONNX calls it nondeterministic.
  static constexpr Spec spec{.name = "AffineGrid",
                             .since = {20},
                             .inputs = {{"theta", "T1"}, {"size", "T2"}},
                             .outputs = {{"grid", "T1"}},
                             .types = {{"T1", types::floats_bf16}, {"T2", types::int64}},
                             .deterministic = false};
  static constexpr Attributes attributes{attr("align_corners", &AffineGrid::align_corners).flag()};

  constexpr void infer(Infer& i) const {
    const Dims& theta = i.dims(0);
    if (!i.expect_rank(0, 3) || !i.expect_rank(1, 1)) return;
    Dim axes = theta.ranked() ? theta[1] : Dim();
    if (theta.ranked() && theta[2].known())
      axes = i.unify(axes, theta[2] - 1, "rows of theta and columns but one");
    axes = i.unify(axes, i.length(1) - 2, "axes of theta and size");
    if (i.failed() || !axes.known()) return;
    if (!axes.is(2) && !axes.is(3)) return i.fail("theta maps ", axes, " axes, expected 2 or 3");
    const int n = static_cast<int>(axes.value());
    Dims y = Dims::of_rank(n + 2);
    y[0] = i.unify(theta.ranked() ? theta[0] : Dim(), i.element(1, 0), "batches of theta and size");
    for (int d = 0; d < n; ++d) {
      y[1 + d] = i.element(1, 2 + d);
      if (!i.expect_at_least("size", y[1 + d], 0)) return;
    }
    y[n + 1] = n;
    i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> theta, TensorView<const int64_t>, TensorView<T> grid) const {
    if (grid.empty()) return;
    using C = compute_t<T>;
    const int axes = grid.rank() - 2;
    Scratch scratch;
    // places[k] has the places of the pixels of axis k, in theta's order: x, the last axis of grid, first.
    C* places[3]{};
    for (int k = 0; k < axes; ++k) {
      const int64_t n = grid.extent(axes - k);
      places[k] = scratch.take<C>(n);
      for (int64_t p = 0; p < n; ++p)
        places[k][p] = align_corners ? (n == 1 ? C(-1) : -1 + C(2 * p) / C(n - 1)) : C(2 * p + 1) / C(n) - 1;
    }
    const int64_t width = grid.extent(axes), height = grid.extent(axes - 1),
                  rows = grid.size() / width / axes, images = rows / grid.extent(0);
    parallel_for(rows, std::max<int64_t>(1, task_work::moderate / width), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t in_image = row % images;
        for (int k = 0; k < axes; ++k) {
          const T* m = theta.data() + (row / images * axes + k) * (axes + 1);
          const auto at = [m](int c) { return static_cast<C>(m[c]); };
          C rest = at(axes) + at(1) * places[1][in_image % height];
          if (axes == 3) rest += at(2) * places[2][in_image / height];
          T* to = grid.data() + row * width * axes + k;
          const C scale = at(0);
          for (int64_t p = 0; p < width; ++p) to[p * axes] = T(scale * places[0][p] + rest);
        }
      }
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::AffineGrid)
