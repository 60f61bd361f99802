// LinearRegressor: linear functions of features.   onnx.ai/onnx/operators/onnx_aionnxml_LinearRegressor.html
#pragma once

#include "tenon/op/families/scores.hpp"

namespace tenon::TENON_ABI::op {

/// Y (N,targets) = X (N,C) coefficients' + intercepts, transformed, where coefficients are (targets,C);
/// further coefficients are not read. X (C) is one row.
/// op::LinearRegressor{.coefficients = {1, 2}, .intercepts = {3}}(x) of ((1,1)) gives ((6)).
struct LinearRegressor {
  std::vector<float> coefficients{};
  std::vector<float> intercepts{};
  Str post_transform = "NONE";
  int64_t targets = 1;

  static constexpr Spec spec{.name = "LinearRegressor",
                             .domain = "ai.onnx.ml",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "tensor(float)"}},
                             .types = {{"T", feature_types}}};
  static constexpr Attributes attributes{
      attr("coefficients", &LinearRegressor::coefficients), attr("intercepts", &LinearRegressor::intercepts),
      attr("post_transform", &LinearRegressor::post_transform), attr("targets", &LinearRegressor::targets)};

  void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    if (!expect_post_transform(i, post_transform) || !i.expect_at_least("targets", targets, 1)) return;
    if (!expect_rows(i)) return;
    if (!intercepts.empty() && !i.expect_entries("intercepts", intercepts.size(), targets)) return;
    const auto given = static_cast<int64_t>(coefficients.size());
    if (const Dim features = feature_count(x); features.known() && features.value() > given / targets)
      return i.fail(given, " coefficients for ", targets, " targets of ", features, " features");
    i.out(0, {row_count(x), targets});
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<float> y) const {
    compute_with(prepare<T>(), x, y);
  }
  template <class T>
  LinearModel<T> prepare() const {
    return {ModelList<model_t<T>>(coefficients), ModelList<model_t<T>>(intercepts)};
  }
  template <class T>
  void compute_with(const LinearModel<T>& m, TensorView<const T> x, TensorView<float> y) const {
    using C = model_t<T>;
    if (y.empty()) return;
    const int64_t rows = row_count(x), features = x.extent(-1);
    Scratch scratch;
    C* scores = score_memory<C>(scratch, y, y.size());
    linear_scores(as_model<C>(scratch, x.data(), x.size()), rows, features, m.coefficients.data(), targets,
                  m.bias(), scores);
    apply_post_transform(post_transform_of(post_transform), scores, rows, targets);
    store_scores(scores, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::LinearRegressor)
