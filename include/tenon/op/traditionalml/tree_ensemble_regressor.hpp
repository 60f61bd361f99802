// TreeEnsembleRegressor: sums over trees.   onnx.ai/onnx/operators/onnx_aionnxml_TreeEnsembleRegressor.html
#pragma once

#include "tenon/op/families/tree_ensemble.hpp"

namespace tenon::op {

/// Y (N,n_targets): each tree takes a row of X (N,F) to a leaf, whose votes (target_…) name targets and
/// weights; a target's weights are aggregated, base values added, and the row of scores transformed. A NaN
/// takes the branch that nodes_missing_value_tracks_true states, else the false one. The root of a tree is
/// its node that is stated first. Without n_targets there are as many as votes name. A target without a vote
/// is 0, with "MIN" ("MAX") the greatest (least) float. A list may be a tensor of double instead.
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
    using Trees = NumberedTrees;
    if (!Trees::expect_numbers(i, "base_values", base_values, base_values_as_tensor) ||
        !Trees::expect_numbers(i, "nodes_hitrates", nodes_hitrates, nodes_hitrates_as_tensor) ||
        !Trees::expect_numbers(i, "nodes_values", nodes_values, nodes_values_as_tensor) ||
        !Trees::expect_numbers(i, "target_weights", target_weights, target_weights_as_tensor) ||
        !i.expect_at_least("n_targets", targets(), 1) || !trees().expect_lists(i, targets()))
      return;
    i.out(0, {row_count(i.dims(0)), targets()});
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<float> y) const {
    if (y.empty()) return;
    const auto run = [&]<class C>() { predict(model<C>(), x, y); };
    if constexpr (std::is_same_v<T, float>)
      if (!in_double(x.dtype())) return run.template operator()<float>();
    run.template operator()<double>();
  }
  /// Whether features of this type are compared as doubles.
  bool in_double(DType x) const { return trees().in_double(x); }
  /// The trees laid out.
  template <class C>
  TreeModel<C> model() const {
    TreeModel<C> m = trees().template model<C>(spec.name, targets());
    m.aggregate = aggregate_function == "AVERAGE" ? TreeAggregate::average
                  : aggregate_function == "MIN"   ? TreeAggregate::min
                  : aggregate_function == "MAX"   ? TreeAggregate::max
                                                  : TreeAggregate::sum;
    m.transform = post_transform_of(post_transform);
    return m;
  }
  /// The same from trees that are laid out.
  template <class C, class T>
  void predict(const TreeModel<C>& m, TensorView<const T> x, TensorView<float> y) const {
    m.predict(spec.name, x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  int64_t targets() const {
    if (n_targets) return *n_targets;
    int64_t most = 0;
    for (const int64_t t : target_ids) most = std::max(most, t);
    return most < INT32_MAX ? most + 1 : most;
  }
  NumberedTrees trees() const {
    return {.nodes_treeids = nodes_treeids,
            .nodes_nodeids = nodes_nodeids,
            .nodes_featureids = nodes_featureids,
            .nodes_truenodeids = nodes_truenodeids,
            .nodes_falsenodeids = nodes_falsenodeids,
            .nodes_missing_value_tracks_true = nodes_missing_value_tracks_true,
            .nodes_modes = nodes_modes,
            .nodes_values = NumberedTrees::numbers(nodes_values, nodes_values_as_tensor),
            .nodes_hitrates = NumberedTrees::numbers(nodes_hitrates, nodes_hitrates_as_tensor),
            .vote_treeids = target_treeids,
            .vote_nodeids = target_nodeids,
            .vote_ids = target_ids,
            .weights = NumberedTrees::numbers(target_weights, target_weights_as_tensor),
            .base_values = NumberedTrees::numbers(base_values, base_values_as_tensor)};
  }
};

}  // namespace tenon::op
