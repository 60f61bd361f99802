// Inverse: the inverses of matrices.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.Inverse
#pragma once

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/inverse.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y (…, N, N) has the inverse of each matrix of X, computed in double; of a singular one infinities and NaN.
/// op::com_microsoft::Inverse{}(x) of ((1,2),(3,4)) gives ((-2,1),(1.5,-0.5)).
struct Inverse {
  static constexpr Spec spec{.name = "Inverse",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats}}};
  static constexpr Attributes<> attributes{};

  constexpr void infer(Infer& i) const {
    Dims y = i.dims(0);
    if (!i.expect_rank_at_least(0, 2) || !y.ranked()) return;
    const int rank = y.rank();
    y[rank - 1] = y[rank - 2] = i.unify(y[rank - 2], y[rank - 1], "rows and columns");
    if (!i.failed()) i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    if (x.empty()) return;
    const int64_t n = x.extent(-1), each = n * n;
    const int64_t grain = std::max<int64_t>(1, task_work::cheap / (each * n));
    parallel_for(x.size() / each, grain, [&](int64_t begin, int64_t end) {
      Scratch scratch;
      double* const matrix = scratch.take<double>(each);
      double* const inverse = scratch.take<double>(each);
      for (int64_t k = begin; k < end; ++k) {
        const T* from = x.data() + k * each;
        for (int64_t j = 0; j < each; ++j) matrix[j] = static_cast<compute_t<T>>(from[j]);
        kernels::invert(matrix, inverse, n);
        T* to = y.data() + k * each;
        for (int64_t j = 0; j < each; ++j) to[j] = T(static_cast<compute_t<T>>(inverse[j]));
      }
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::Inverse)
