// TreeEnsembleRegressor: sums over trees.   onnx.ai/onnx/operators/onnx_aionnxml_TreeEnsembleRegressor.html
#pragma once

#include "tenon/op/families/tree_ensemble.hpp"

namespace tenon::TENON_ABI::op {

/// Y (N,n_targets): each tree takes a row of X (N,F) to a leaf, whose votes (target_…) name targets and
/// weights; a target's weights are aggregated, base values added, and the row of scores transformed. A NaN
/// takes the branch that nodes_missing_value_tracks_true states, else the false one. The root of a tree is
/// its first stated node. Without n_targets, the votes determine their number. A target without a vote is 0,
/// with "MIN" ("MAX") the greatest (least) float. A list may be a tensor of double instead.
struct TreeEnsembleRegressor {
  Str aggregate_function = "SUM";  ///< AVERAGE (over all trees), SUM, MIN, MAX
  std::vector<float> base_values{};
  TensorAttribute base_values_as_tensor{};
  Opt<int64_t> n_targets{};
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
  std::vector<int64_t> target_ids{};
  std::vector<int64_t> target_nodeids{};
  std::vector<int64_t> target_treeids{};
  std::vector<float> target_weights{};
  TensorAttribute target_weights_as_tensor{};

  static constexpr Spec spec{.name = "TreeEnsembleRegressor",
                             .domain = "ai.onnx.ml",
                             .since = {1, 3, 5},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "tensor(float)"}},
                             .types = {{"T", feature_types}},
                             .until = 4};
  static constexpr Attributes attributes{
      attr("aggregate_function", &TreeEnsembleRegressor::aggregate_function),
      attr("base_values", &TreeEnsembleRegressor::base_values),
      attr("base_values_as_tensor", &TreeEnsembleRegressor::base_values_as_tensor).since(3),
      attr("n_targets", &TreeEnsembleRegressor::n_targets),
      attr("nodes_falsenodeids", &TreeEnsembleRegressor::nodes_falsenodeids),
      attr("nodes_featureids", &TreeEnsembleRegressor::nodes_featureids),
      attr("nodes_hitrates", &TreeEnsembleRegressor::nodes_hitrates),
      attr("nodes_hitrates_as_tensor", &TreeEnsembleRegressor::nodes_hitrates_as_tensor).since(3),
      attr("nodes_missing_value_tracks_true", &TreeEnsembleRegressor::nodes_missing_value_tracks_true),
      attr("nodes_modes", &TreeEnsembleRegressor::nodes_modes),
      attr("nodes_nodeids", &TreeEnsembleRegressor::nodes_nodeids),
      attr("nodes_treeids", &TreeEnsembleRegressor::nodes_treeids),
      attr("nodes_truenodeids", &TreeEnsembleRegressor::nodes_truenodeids),
      attr("nodes_values", &TreeEnsembleRegressor::nodes_values),
      attr("nodes_values_as_tensor", &TreeEnsembleRegressor::nodes_values_as_tensor).since(3),
      attr("post_transform", &TreeEnsembleRegressor::post_transform),
      attr("target_ids", &TreeEnsembleRegressor::target_ids),
      attr("target_nodeids", &TreeEnsembleRegressor::target_nodeids),
      attr("target_treeids", &TreeEnsembleRegressor::target_treeids),
      attr("target_weights", &TreeEnsembleRegressor::target_weights),
      attr("target_weights_as_tensor", &TreeEnsembleRegressor::target_weights_as_tensor).since(3)};

  void infer(Infer& i) const {
    if (!i.expect_choice("aggregate_function", aggregate_function, {"AVERAGE", "SUM", "MIN", "MAX"})) return;
    if (!expect_post_transform(i, post_transform) || !i.expect_rank(0, 2)) return;
    if (i.expect_at_least("n_targets", targets(), 1) && trees().expect_lists(i, targets()))
      i.out(0, {row_count(i.dims(0)), targets()});
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<float> y) const {
    compute_with(prepare<T>(), x, y);
  }
  /// The trees laid out.
  template <class T>
  TreeModel<model_t<T>> prepare() const {
    TreeModel<model_t<T>> m = trees().template model<model_t<T>>(targets());
    m.aggregate = aggregate_function == "AVERAGE" ? TreeAggregate::average
                  : aggregate_function == "MIN"   ? TreeAggregate::min
                  : aggregate_function == "MAX"   ? TreeAggregate::max
                                                  : TreeAggregate::sum;
    return m;
  }
  template <class T>
  void compute_with(const TreeModel<model_t<T>>& m, TensorView<const T> x, TensorView<float> y) const {
    m.predict(spec.name, x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  int64_t targets() const { return n_targets ? *n_targets : voted_targets(target_ids); }
  NumberedTrees<TreeEnsembleRegressor> trees() const {
    return {*this,
            {"target_weights",
             target_treeids,
             target_nodeids,
             target_ids,
             {target_weights, target_weights_as_tensor}}};
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::TreeEnsembleRegressor)
