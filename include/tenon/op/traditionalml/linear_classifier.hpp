// LinearClassifier: classes by linear scores.   onnx.ai/onnx/operators/onnx_aionnxml_LinearClassifier.html
#pragma once

#include "tenon/op/families/scores.hpp"

namespace tenon::TENON_ABI::op {

/// Z (N,E) = X (N,C) coefficients' + intercepts, transformed, where coefficients are (E,C); Y (N) holds the
/// label of the greatest score. X (C) is one row. One row of coefficients for two labels gives the scores -s
/// and s. For one label it gives s, and the label if s is at least 0 (transformed: 0.5), else 0 or "".
/// As in ONNX Runtime, intercepts state the number of classes, and coefficients beyond theirs are ignored: a
/// model in its package has twice as many. `multi_class` changes nothing. Labels must be stated, as ONNX's
/// text says, though its reference numbers the classes otherwise. op::LinearClassifier{.classlabels_ints =
/// {0, 1}, .coefficients = {…}}(x) gives (labels, scores).
struct LinearClassifier {
  std::vector<int64_t> classlabels_ints{};
  std::vector<std::string> classlabels_strings{};
  std::vector<float> coefficients{};
  std::vector<float> intercepts{};
  int64_t multi_class = 0;
  Str post_transform = "NONE";

  static constexpr Spec spec{.name = "LinearClassifier",
                             .domain = "ai.onnx.ml",
                             .since = {1},
                             .inputs = {{"X", "T1"}},
                             .outputs = {{"Y", "T2"}, {"Z", "tensor(float)"}},
                             .types = {{"T1", feature_types}, {"T2", types::string | types::int64}}};
  static constexpr Attributes attributes{attr("classlabels_ints", &LinearClassifier::classlabels_ints),
                                         attr("classlabels_strings", &LinearClassifier::classlabels_strings),
                                         attr("coefficients", &LinearClassifier::coefficients).required(),
                                         attr("intercepts", &LinearClassifier::intercepts),
                                         attr("multi_class", &LinearClassifier::multi_class).flag(),
                                         attr("post_transform", &LinearClassifier::post_transform)};

  void infer(Infer& i) const {
    const Dims& x = i.dims(0);
    if (!expect_post_transform(i, post_transform) || !labels().expect_one_kind(i, "classlabel")) return;
    i.for_runs([&] {
      if (labels().count() == 0) i.fail("states no labels");
    });
    if (!expect_rows(i)) return;
    Dim models = intercepts.empty() ? Dim() : Dim(static_cast<int64_t>(intercepts.size()));
    if (const Dim features = feature_count(x); features.known()) {
      const auto given = static_cast<int64_t>(coefficients.size()),
                 stated = static_cast<int64_t>(intercepts.size());
      const bool enough = stated > 0 && given % stated == 0 && features.value() <= given / stated;
      const bool fits = enough || (features.is(0) ? given == 0 : given % features.value() == 0);
      i.for_runs([&] {
        if (!fits) i.fail(given, " coefficients for ", features, " features");
      });
      if (fits && !enough && !features.is(0))
        models = i.unify(Dim(given / features.value()), models, "numbers of models");
      else if (fits && !models.known()) models = 0;
    }
    const Dim classes = models.is(1) && labels().count() == 2 ? Dim(2) : models;
    if (labels().count() != 0 && classes.differs(labels().count()))
      return i.fail(labels().count(), " labels for ", classes, " classes");
    if (classes.is(0)) return i.fail("has no classes");
    i.out(0, labels().dtype(), {row_count(x)});
    i.out(1, DType::float32, {row_count(x), classes});
  }
  template <class T>
  void compute(TensorView<const T> x, AnyOut y, TensorView<float> z) const {
    compute_with(prepare<T>(), x, y, z);
  }
  template <class T>
  LinearModel<T> prepare() const {
    return {ModelList<model_t<T>>(coefficients), ModelList<model_t<T>>(intercepts)};
  }
  template <class T>
  void compute_with(const LinearModel<T>& m, TensorView<const T> x, AnyOut y, TensorView<float> z) const {
    using C = model_t<T>;
    const int64_t rows = row_count(x), features = x.extent(-1);
    const bool counted = m.intercepts.size() > 0 || features == 0;
    const int64_t models = counted ? m.intercepts.size() : m.coefficients.size() / features;
    const bool pair = models == 1 && labels().count() == 2;
    const int64_t classes = pair ? 2 : models;
    if (rows == 0) return;
    Scratch scratch;
    C* scores = score_memory<C>(scratch, z, rows * classes);
    linear_scores(as_model<C>(scratch, x.data(), x.size()), rows, features, m.coefficients.data(), models,
                  m.bias(), scores);
    if (pair) pair_scores(scores, rows, false);
    apply_post_transform(post_transform_of(post_transform), scores, rows, classes);
    if (y && classes > 1) {
      label_greatest(labels(), scores, rows, classes, y);
    } else if (y) {
      const C least = post_transform == "NONE" ? 0 : C(0.5);
      for (int64_t r = 0; r < rows; ++r) {
        if (!(scores[r] >= least)) labels().put_none(y, r);
        else labels().put(y, r, 0);
      }
    }
    store_scores(scores, z);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  ClassLabels labels() const { return {classlabels_strings, classlabels_ints}; }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::LinearClassifier)
