// CDist: the distances between the rows of two matrices.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.CDist
#pragma once

#include "tenon/kernels/svm.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// C (M, N) = the distance of each row of A (M, K) from each row of B (N, K), or its square, unless `metric`
/// is "euclidean". op::com_microsoft::CDist{.metric = "euclidean"}(a, b) of (1,2) and (3,2) gives (1,3).
struct CDist {
  Str metric = "sqeuclidean";

  static constexpr Spec spec{.name = "CDist",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"A", "T"}, {"B", "T"}},
                             .outputs = {{"C", "T"}},
                             .types = {{"T", types::float32 | types::float64}}};
  static constexpr Attributes attributes{attr("metric", &CDist::metric)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("metric", metric, {"euclidean", "sqeuclidean"}) || !i.expect_rank(0, 2) ||
        !i.expect_rank(1, 2))
      return;
    const auto extent = [&](int input, int axis) { return i.ranked(input) ? i.dims(input)[axis] : Dim(); };
    i.unify(extent(0, 1), extent(1, 1), "lengths of rows");
    if (!i.failed()) i.out(0, {extent(0, 0), extent(1, 0)});
  }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> b, TensorView<T> c) const {
    kernels::squared_distances(a.data(), a.extent(0), b.data(), b.extent(0), a.extent(1), c.data());
    if (metric == "euclidean")
      for (T& distance : std::span(c.data(), static_cast<std::size_t>(c.size())))
        distance = std::sqrt(distance);
  }
  template <class L>
  void loops(L& l) const {
    for (const int k : {0, 1}) l.over({{k, 0}}, {{0, k}});
  }
  template <class L>
  double multiplications(const L& l) const {
    return l.elements(l.out(0)) * l.extent(l.dims(0), 1);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::CDist)
