// Det: determinants of square matrices.   onnx.ai/onnx/operators/onnx__Det.html
#pragma once

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/determinant.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

/// X (batch..., M, M) to Y (batch...), the determinant of each matrix, computed in double.
/// op::Det{}(x) of ((1,2),(3,4)) gives -2.
struct Det {
  static constexpr Spec spec{.name = "Det",
                             .since = {11, 22},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", {{11, types::floats}, {22, types::floats_bf16}}}}};

  constexpr void infer(Infer& i) const {
    Dims y = i.dims(0);
    if (!i.expect_rank_at_least(0, 2) || !y.ranked()) return;
    i.unify(y[y.rank() - 2], y[y.rank() - 1], "extents of matrices");
    y.erase(y.rank() - 1);
    y.erase(y.rank() - 1);
    i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    if (y.empty()) return;
    const int64_t n = x.extent(-1),
                  grain = std::max<int64_t>(1, task_work::cheap / std::max<int64_t>(n * n, 1));
    parallel_for(y.size(), grain, [&](int64_t begin, int64_t end) {
      Scratch scratch;
      double* matrix = scratch.take<double>(n * n);
      for (int64_t k = begin; k < end; ++k) {
        const T* from = x.data() + k * n * n;
        for (int64_t j = 0; j < n * n; ++j) matrix[j] = static_cast<compute_t<T>>(from[j]);
        y[k] = T(static_cast<compute_t<T>>(kernels::determinant(matrix, n)));
      }
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::Det)
