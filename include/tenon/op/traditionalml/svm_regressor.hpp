// SVMRegressor: support vector regression.   onnx.ai/onnx/operators/onnx_aionnxml_SVMRegressor.html
#pragma once

#include "tenon/op/families/svm.hpp"

namespace tenon::TENON_ABI::op {

/// Y (N,1) = the coefficients' sum of similarities of a row of X (N,C) to the `n_supports` support vectors,
/// plus rho[0], transformed. Without support vectors the function is linear with the coefficients (C). X
/// (C) is one row. With `one_class` the result is 1 where the sum is above 0, else -1, and is not
/// transformed. op::SVMRegressor{.coefficients = {1, 2}, .rho = {3}}(x) of ((1,1)) gives ((6)).
struct SVMRegressor {
  std::vector<float> coefficients{};
  std::vector<float> kernel_params{};
  Str kernel_type = "LINEAR";
  int64_t n_supports = 0;
  int64_t one_class = 0;
  Str post_transform = "NONE";
  std::vector<float> rho{};
  std::vector<float> support_vectors{};

  static constexpr Spec spec{.name = "SVMRegressor",
                             .domain = "ai.onnx.ml",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "tensor(float)"}},
                             .types = {{"T", feature_types}}};
  static constexpr Attributes attributes{attr("coefficients", &SVMRegressor::coefficients),
                                         attr("kernel_params", &SVMRegressor::kernel_params),
                                         attr("kernel_type", &SVMRegressor::kernel_type),
                                         attr("n_supports", &SVMRegressor::n_supports),
                                         attr("one_class", &SVMRegressor::one_class).flag(),
                                         attr("post_transform", &SVMRegressor::post_transform),
                                         attr("rho", &SVMRegressor::rho),
                                         attr("support_vectors", &SVMRegressor::support_vectors)};

  void infer(Infer& i) const {
    if (!expect_svm_kernel(i, kernel_type, kernel_params) || !expect_post_transform(i, post_transform))
      return;
    if (!i.expect_at_least("n_supports", n_supports, 0) || !expect_rows(i)) return;
    if (rho.empty()) return i.fail("rho is missing");
    const auto weights = static_cast<int64_t>(coefficients.size());
    int64_t features = weights;
    if (n_supports > 0) {
      const auto numbers = static_cast<int64_t>(support_vectors.size());
      if (!i.expect_entries("coefficients", weights, n_supports)) return;
      if (numbers % n_supports != 0)
        return i.fail("support_vectors: ", numbers, " numbers for ", n_supports, " vectors");
      features = numbers / n_supports;
    }
    if (feature_count(i.dims(0)).differs(features))
      return i.fail("X has ", feature_count(i.dims(0)), " features, expected ", features);
    i.out(0, {row_count(i.dims(0)), 1});
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<float> y) const {
    compute_with(prepare<T>(), x, y);
  }
  template <class T>
  SvmModel<T> prepare() const {
    return {ModelList<model_t<T>>(coefficients), ModelList<model_t<T>>(support_vectors)};
  }
  template <class T>
  void compute_with(const SvmModel<T>& m, TensorView<const T> x, TensorView<float> y) const {
    using C = model_t<T>;
    if (y.empty()) return;
    const int64_t rows = row_count(x), features = x.extent(-1);
    const C offset = static_cast<C>(rho[0]);
    Scratch scratch;
    const C *w = m.coefficients.data(), *from = as_model<C>(scratch, x.data(), x.size());
    C* scores = score_memory<C>(scratch, y, rows);
    if (n_supports > 0) {
      for_similarities(kernel_type, kernel_params, from, rows, m.vectors.data(), n_supports, features,
                       [&](int64_t first, int64_t count, const C* similarity) {
                         linear_scores(similarity, count, n_supports, w, 1, &offset, scores + first);
                       });
    } else {
      linear_scores(from, rows, features, w, 1, &offset, scores);
    }
    if (one_class != 0)
      for (int64_t r = 0; r < rows; ++r) scores[r] = scores[r] > 0 ? C(1) : C(-1);
    else apply_post_transform(post_transform_of(post_transform), scores, rows, 1);
    store_scores(scores, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::SVMRegressor)
