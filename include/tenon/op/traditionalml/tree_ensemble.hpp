// TreeEnsemble: numbers from trees.   onnx.ai/onnx/operators/onnx_aionnxml_TreeEnsemble.html
#pragma once

#include "tenon/op/families/tree_ensemble.hpp"

namespace tenon::TENON_ABI::op {

/// Y (N,n_targets): each tree takes a row of X (N,F) to a leaf, which has a target and a weight; a target's
/// weights are aggregated, and the row of scores transformed. nodes_… hold the inner nodes of all trees,
/// leaf_… the leaves; nodes_trueleafs and nodes_falseleafs tell which of the two a child's number refers to.
/// A NaN takes the branch that nodes_missing_value_tracks_true states, else the false one. membership_values
/// holds the sets of the nodes of mode 6 in the nodes' order, each followed by a NaN. Without n_targets, the
/// leaves determine their number. A target without a vote is 0, or, if the least (greatest) vote counts, the
/// greatest (least) number.
struct TreeEnsemble {
  int64_t aggregate_function = 1;  ///< average (over all trees), sum, min, max
  std::vector<int64_t> leaf_targetids{};
  TensorAttribute leaf_weights{};
  TensorAttribute membership_values{};
  Opt<int64_t> n_targets{};
  std::vector<int64_t> nodes_falseleafs{};
  std::vector<int64_t> nodes_falsenodeids{};
  std::vector<int64_t> nodes_featureids{};
  TensorAttribute nodes_hitrates{};
  std::vector<int64_t> nodes_missing_value_tracks_true{};
  TensorAttribute nodes_modes{};  ///< uint8: <=, <, >=, >, ==, !=, membership
  TensorAttribute nodes_splits{};
  std::vector<int64_t> nodes_trueleafs{};
  std::vector<int64_t> nodes_truenodeids{};
  int64_t post_transform = 0;  ///< none, softmax, logistic, softmax_zero, probit
  std::vector<int64_t> tree_roots{};

  static constexpr Spec spec{.name = "TreeEnsemble",
                             .domain = "ai.onnx.ml",
                             .since = {5},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::floats}}};
  static constexpr Attributes attributes{
      attr("aggregate_function", &TreeEnsemble::aggregate_function),
      attr("leaf_targetids", &TreeEnsemble::leaf_targetids).required(),
      attr("leaf_weights", &TreeEnsemble::leaf_weights).required(),
      attr("membership_values", &TreeEnsemble::membership_values),
      attr("n_targets", &TreeEnsemble::n_targets),
      attr("nodes_falseleafs", &TreeEnsemble::nodes_falseleafs).required(),
      attr("nodes_falsenodeids", &TreeEnsemble::nodes_falsenodeids).required(),
      attr("nodes_featureids", &TreeEnsemble::nodes_featureids).required(),
      attr("nodes_hitrates", &TreeEnsemble::nodes_hitrates),
      attr("nodes_missing_value_tracks_true", &TreeEnsemble::nodes_missing_value_tracks_true),
      attr("nodes_modes", &TreeEnsemble::nodes_modes).required(),
      attr("nodes_splits", &TreeEnsemble::nodes_splits).required(),
      attr("nodes_trueleafs", &TreeEnsemble::nodes_trueleafs).required(),
      attr("nodes_truenodeids", &TreeEnsemble::nodes_truenodeids).required(),
      attr("post_transform", &TreeEnsemble::post_transform),
      attr("tree_roots", &TreeEnsemble::tree_roots).required()};

  void infer(Infer& i) const {
    if (!i.expect_choice("aggregate_function", aggregate_function, {0, 1, 2, 3})) return;
    if (!i.expect_choice("post_transform", post_transform, {0, 1, 2, 3, 4})) return;
    if (!i.expect_rank(0, 2)) return;
    if (!nodes_splits || !nodes_modes || !leaf_weights)
      return i.fail("nodes_splits, nodes_modes and leaf_weights are required");
    const int64_t n = view(nodes_splits).size(), leaves = view(leaf_weights).size();
    const auto tensor = [&](std::string_view name, const TensorAttribute& a, DType type, int64_t count) {
      const AnyView v = view(a);
      if (a && type != DType::undefined && v.dtype() != type)
        i.fail_type(name, ": tensor(", v.dtype(), ") ", Dims(v.extents()), ", expected a list of ", type);
      else if (a && v.rank() != 1)
        i.fail(name, ": tensor(", v.dtype(), ") ", Dims(v.extents()), ", expected a list");
      return !i.failed() && (!a || count < 0 || i.expect_entries(name, v.size(), count));
    };
    const auto list = [&](std::string_view name, const std::vector<int64_t>& l, int64_t count) {
      return i.expect_entries(name, l.size(), count);
    };
    const DType x = i.dtype(0);
    if (!tensor("nodes_splits", nodes_splits, x, n) || !tensor("nodes_modes", nodes_modes, DType::uint8, n) ||
        !tensor("nodes_hitrates", nodes_hitrates, x, n) || !tensor("leaf_weights", leaf_weights, x, leaves) ||
        !tensor("membership_values", membership_values, x, -1) ||
        !list("nodes_falseleafs", nodes_falseleafs, n) ||
        !list("nodes_falsenodeids", nodes_falsenodeids, n) ||
        !list("nodes_featureids", nodes_featureids, n) || !list("nodes_trueleafs", nodes_trueleafs, n) ||
        !list("nodes_truenodeids", nodes_truenodeids, n) || !list("leaf_targetids", leaf_targetids, leaves) ||
        !list("nodes_missing_value_tracks_true", nodes_missing_value_tracks_true,
              nodes_missing_value_tracks_true.empty() ? 0 : n) ||
        !i.expect_at_least("n_targets", targets(), 1))
      return;
    i.out(0, {row_count(i.dims(0)), targets()});
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<T> y) const {
    compute_with(prepare<T>(), x, y);
  }
  /// The trees laid out. Error{invalid_model} for modes that do not exist, sets that do not match the nodes,
  /// and cycles; Error{out_of_range} for numbers that name no node, leaf, target or feature.
  template <class T>
  TreeModel<compute_t<T>> prepare() const {
    const auto n = static_cast<int64_t>(nodes_featureids.size());
    const auto leaves = static_cast<int64_t>(leaf_targetids.size());
    Scratch scratch;
    const double *splits = numbers<double>(scratch, view(nodes_splits)),
                 *weights = numbers<double>(scratch, view(leaf_weights));
    std::span<const double> members;
    if (const AnyView sets = view(membership_values))
      members = {numbers<double>(scratch, sets), static_cast<std::size_t>(sets.size())};
    const auto* modes = static_cast<const uint8_t*>(view(nodes_modes).data());
    const auto checked = [&](std::string_view what, int64_t number, int64_t count) {
      if (number < 0 || number >= count)
        raise(ErrorCode::out_of_range, spec.name, what, " ", number, " of ", count);
      return number;
    };
    std::vector<kernels::StatedNode> nodes(static_cast<std::size_t>(n));
    std::size_t set = 0;
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      if (modes[k] > 6) raise(ErrorCode::invalid_model, spec.name, "mode ", int{modes[k]}, " of node ", k);
      const auto child = [&](int64_t number, int64_t is_leaf) {
        return is_leaf != 0 ? ~checked("leaf", number, leaves) : checked("node", number, n);
      };
      kernels::StatedNode& node = nodes[k];
      node.test = static_cast<kernels::TreeTest>(modes[k]);
      node.nan_is_true = !nodes_missing_value_tracks_true.empty() && nodes_missing_value_tracks_true[k] != 0;
      node.if_true = child(nodes_truenodeids[k], nodes_trueleafs[k]);
      node.if_false = child(nodes_falsenodeids[k], nodes_falseleafs[k]);
      // The feature of a tree that is one leaf is meaningless.
      const bool is_leaf = node.if_true == node.if_false && node.if_true < 0;
      node.feature = is_leaf ? 0 : tree_feature(spec.name, nodes_featureids[k]);
      node.bound = splits[k];
      if (node.test == kernels::TreeTest::member) {
        const std::size_t first = set;
        while (set < members.size() && members[set] == members[set]) ++set;
        if (set == members.size())
          raise(ErrorCode::invalid_model, spec.name, "membership_values has no set for node ", k);
        node.members = members.subspan(first, set++ - first);
      }
    }
    if (set != members.size())
      raise(ErrorCode::invalid_model, spec.name,
            "membership_values has more sets than there are nodes of mode 6");
    std::vector<int64_t> first_vote(static_cast<std::size_t>(leaves) + 1);
    std::vector<kernels::TreeVote> votes(static_cast<std::size_t>(leaves));
    const int64_t count = targets();
    for (std::size_t k = 0; k < votes.size(); ++k) {
      checked("target", leaf_targetids[k], std::min<int64_t>(count, INT32_MAX));
      votes[k] = {weights[k], static_cast<int32_t>(leaf_targetids[k])};
      first_vote[k + 1] = static_cast<int64_t>(k) + 1;
    }
    for (const int64_t root : tree_roots) checked("root", root, n);
    TreeModel<compute_t<T>> m;
    m.table =
        lay_out_trees<compute_t<T>>(spec.name, nodes, tree_roots, std::move(first_vote), std::move(votes));
    m.targets = count;
    m.aggregate = static_cast<TreeAggregate>(aggregate_function);
    m.transform = static_cast<PostTransform>(post_transform);
    return m;
  }
  template <class T>
  void compute_with(const TreeModel<compute_t<T>>& m, TensorView<const T> x, TensorView<T> y) const {
    m.predict(spec.name, x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  static AnyView view(const TensorAttribute& a) { return a ? a.value.tensor().view() : AnyView(); }
  int64_t targets() const { return n_targets ? *n_targets : voted_targets(leaf_targetids); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::TreeEnsemble)
