// TreeEnsembleClassifier: votes of trees.   onnx.ai/onnx/operators/onnx_aionnxml_TreeEnsembleClassifier.html
#pragma once

#include "tenon/op/families/tree_ensemble.hpp"

namespace tenon::TENON_ABI::op {

/// Z (N,E): each tree takes a row of X (N,F) to a leaf, whose votes (class_…) name classes and weights; a
/// class's weights and base value are summed, and the row transformed. Y (N) holds the label of the greatest
/// score. If all votes are for one class of two, its score s gives both: 1 - s and s with "PROBIT", and with
/// "NONE" if no weight is negative, else -s and s. A single class has the score s, and is the label if the
/// second of such a pair would be; else the label is 0 or "". Nodes are as in TreeEnsembleRegressor.
struct TreeEnsembleClassifier {
  std::vector<float> base_values{};
  TensorAttribute base_values_as_tensor{};
  std::vector<int64_t> class_ids{};
  std::vector<int64_t> class_nodeids{};
  std::vector<int64_t> class_treeids{};
  std::vector<float> class_weights{};
  TensorAttribute class_weights_as_tensor{};
  std::vector<int64_t> classlabels_int64s{};
  std::vector<std::string> classlabels_strings{};
  std::vector<int64_t> nodes_falsenodeids{};
  std::vector<int64_t> nodes_featureids{};
  std::vector<float> nodes_hitrates{};
  TensorAttribute nodes_hitrates_as_tensor{};
  std::vector<int64_t> nodes_missing_value_tracks_true{};
  std::vector<std::string> nodes_modes{};
  std::vector<int64_t> nodes_nodeids{};
  std::vector<int64_t> nodes_treeids{};
  std::vector<int64_t> nodes_truenodeids{};
  std::vector<float> nodes_values{};
  TensorAttribute nodes_values_as_tensor{};
  Str post_transform = "NONE";

  static constexpr Spec spec{.name = "TreeEnsembleClassifier",
                             .domain = "ai.onnx.ml",
                             .since = {1, 3, 5},
                             .inputs = {{"X", "T1"}},
                             .outputs = {{"Y", "T2"}, {"Z", "tensor(float)"}},
                             .types = {{"T1", feature_types}, {"T2", types::string | types::int64}},
                             .until = 4};
  static constexpr Attributes attributes{
      attr("base_values", &TreeEnsembleClassifier::base_values),
      attr("base_values_as_tensor", &TreeEnsembleClassifier::base_values_as_tensor).since(3),
      attr("class_ids", &TreeEnsembleClassifier::class_ids),
      attr("class_nodeids", &TreeEnsembleClassifier::class_nodeids),
      attr("class_treeids", &TreeEnsembleClassifier::class_treeids),
      attr("class_weights", &TreeEnsembleClassifier::class_weights),
      attr("class_weights_as_tensor", &TreeEnsembleClassifier::class_weights_as_tensor).since(3),
      attr("classlabels_int64s", &TreeEnsembleClassifier::classlabels_int64s),
      attr("classlabels_strings", &TreeEnsembleClassifier::classlabels_strings),
      attr("nodes_falsenodeids", &TreeEnsembleClassifier::nodes_falsenodeids),
      attr("nodes_featureids", &TreeEnsembleClassifier::nodes_featureids),
      attr("nodes_hitrates", &TreeEnsembleClassifier::nodes_hitrates),
      attr("nodes_hitrates_as_tensor", &TreeEnsembleClassifier::nodes_hitrates_as_tensor).since(3),
      attr("nodes_missing_value_tracks_true", &TreeEnsembleClassifier::nodes_missing_value_tracks_true),
      attr("nodes_modes", &TreeEnsembleClassifier::nodes_modes),
      attr("nodes_nodeids", &TreeEnsembleClassifier::nodes_nodeids),
      attr("nodes_treeids", &TreeEnsembleClassifier::nodes_treeids),
      attr("nodes_truenodeids", &TreeEnsembleClassifier::nodes_truenodeids),
      attr("nodes_values", &TreeEnsembleClassifier::nodes_values),
      attr("nodes_values_as_tensor", &TreeEnsembleClassifier::nodes_values_as_tensor).since(3),
      attr("post_transform", &TreeEnsembleClassifier::post_transform)};

  void infer(Infer& i) const {
    if (!expect_post_transform(i, post_transform) || !labels().expect_one_kind(i, "classlabel")) return;
    if (!i.expect_rank(0, 2)) return;
    const int64_t classes = labels().count();
    if (classes == 0) return i.fail("states no labels");
    if (!trees().expect_lists(i, classes)) return;
    i.out(0, labels().dtype(), {row_count(i.dims(0))});
    i.out(1, DType::float32, {row_count(i.dims(0)), classes});
  }
  template <class T>
  void compute(TensorView<const T> x, AnyOut y, TensorView<float> z) const {
    compute_with(prepare<T>(), x, y, z);
  }
  /// The trees laid out.
  template <class T>
  TreeModel<model_t<T>> prepare() const {
    return trees().template model<model_t<T>>(labels().count());
  }
  template <class T>
  void compute_with(const TreeModel<model_t<T>>& m, TensorView<const T> x, AnyOut y,
                    TensorView<float> z) const {
    const int64_t classes = labels().count();
    const bool one = classes <= 2 && m.only_target >= 0;
    const bool complement =
        m.transform == PostTransform::probit || (m.transform == PostTransform::none && !m.negative_weights);
    m.template score<float>(spec.name, x, [&](int64_t first, int64_t count, double* scores) {
      if (classes == 1) return single(m.transform, complement, first, count, scores, y, z);
      for (int64_t r = 0; one && r < count; ++r) {
        const double s = scores[2 * r + m.only_target];
        scores[2 * r] = complement ? 1 - s : -s;
        scores[2 * r + 1] = s;
      }
      apply_post_transform(m.transform, scores, count, classes);
      if (y) label_greatest(labels(), scores, count, classes, y, first);
      for (int64_t k = 0; z && k < count * classes; ++k)
        z[first * classes + k] = static_cast<float>(scores[k]);
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  ClassLabels labels() const { return {classlabels_strings, classlabels_int64s}; }
  void single(PostTransform transform, bool complement, int64_t first, int64_t count, double* scores,
              AnyOut y, TensorView<float> z) const {
    for (int64_t r = 0; y && r < count; ++r) {
      if (scores[r] > (complement ? 0.5 : 0.0)) labels().put(y, first + r, 0);
      else labels().put_none(y, first + r);
    }
    apply_post_transform(transform, scores, count, 1);
    for (int64_t r = 0; z && r < count; ++r) z[first + r] = static_cast<float>(scores[r]);
  }
  NumberedTrees<TreeEnsembleClassifier> trees() const {
    return {
        *this,
        {"class_weights", class_treeids, class_nodeids, class_ids, {class_weights, class_weights_as_tensor}}};
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::TreeEnsembleClassifier)
