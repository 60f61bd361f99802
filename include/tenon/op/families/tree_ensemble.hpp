// TreeEnsemble, TreeEnsembleClassifier and TreeEnsembleRegressor share trees, their layout for the kernel,
// and how votes become scores.
#pragma once

#include <algorithm>

#include "tenon/kernels/tree_ensemble.hpp"
#include "tenon/op/families/labels.hpp"
#include "tenon/op/families/scores.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/framework/attribute.hpp"

namespace tenon::TENON_ABI::op {

/// How the leaves of all trees make a score, under TreeEnsemble's numbers.
enum class TreeAggregate : uint8_t { average, sum, min, max };

/// Trees laid out for the kernel, and how their votes become scores.
template <class C>
struct TreeModel {
  kernels::TreeTable<C> table;
  int64_t targets = 1;
  TreeAggregate aggregate = TreeAggregate::sum;
  PostTransform transform = PostTransform::none;
  std::vector<double> base{};     ///< one for each target, or empty
  int64_t only_target = -1;       ///< the target of all votes, if they share one
  bool negative_weights = false;  ///< whether a vote has a weight below 0

  /// Scores of all rows, before the transform: finish(first, count, scores) gets the scores (count, targets)
  /// of the rows from `first` on. A target without a vote has the score 0, or, if the least (greatest) vote
  /// counts, the greatest (least) number of type R. Error{out_of_range} if rows have fewer features than
  /// nodes ask for.
  template <class R, class T, class F>
  void score(std::string_view name, TensorView<const T> x, const F& finish) const {
    using Join = kernels::TreeJoin;
    const bool least = aggregate == TreeAggregate::min, greatest = aggregate == TreeAggregate::max;
    const int64_t rows = x.extent(0), features = x.extent(1);
    if (rows == 0) return;
    if (table.features() > features)
      raise(ErrorCode::out_of_range, name, "feature ", table.features() - 1, " of rows of ", features);
    const double limit = static_cast<double>(std::numeric_limits<R>::max());
    const double share =
        aggregate == TreeAggregate::average && table.trees() > 0 ? static_cast<double>(table.trees()) : 1;
    kernels::tree_ensemble(table,
                           least      ? Join::min
                           : greatest ? Join::max
                                      : Join::sum,
                           least      ? limit
                           : greatest ? -limit
                                      : 0.0,
                           x.data(), rows, features, targets,
                           [&](int64_t first, int64_t count, double* scores) {
                             if (share != 1)
                               for (int64_t k = 0; k < count * targets; ++k) scores[k] /= share;
                             for (int64_t r = 0; !base.empty() && r < count; ++r)
                               for (int64_t t = 0; t < targets; ++t)
                                 scores[r * targets + t] += base[static_cast<std::size_t>(t)];
                             finish(first, count, scores);
                           });
  }
  /// y (rows, targets) = the transformed scores.
  template <class T, class R>
  void predict(std::string_view name, TensorView<const T> x, TensorView<R> y) const {
    using Limits = std::conditional_t<std::is_same_v<R, float16>, float, R>;
    score<Limits>(name, x, [&](int64_t first, int64_t count, double* scores) {
      apply_post_transform(transform, scores, count, targets);
      for (int64_t k = 0; k < count * targets; ++k) y[first * targets + k] = convert<R>(scores[k]);
    });
  }
};

template <class C>
kernels::TreeTable<C> lay_out_trees(std::string_view name, std::span<const kernels::StatedNode> nodes,
                                    std::span<const int64_t> roots, std::vector<int64_t> first_vote,
                                    std::vector<kernels::TreeVote> votes) {
  kernels::TreeTable<C> table;
  if (!table.build(nodes, roots, std::move(first_vote), std::move(votes)))
    raise(ErrorCode::invalid_model, name, "a node is its own descendant, or there are too many nodes");
  return table;
}

inline int32_t tree_feature(std::string_view name, int64_t feature) {
  if (feature < 0 || feature > INT32_MAX - 1)
    raise(ErrorCode::out_of_range, name, "a node asks for feature ", feature);
  return static_cast<int32_t>(feature);
}

/// As many targets as votes name.
inline int64_t voted_targets(std::span<const int64_t> ids) {
  int64_t most = 0;
  for (const int64_t id : ids) most = std::max(most, id);
  return most < INT32_MAX ? most + 1 : most;
}

/// A list that a model states as floats or, in a tensor, as doubles.
struct NumberList {
  const std::vector<float>& floats;
  const TensorAttribute& tensor;

  AnyView view() const { return tensor ? tensor.value.tensor().view() : list_view(floats); }
  /// Fails if the list is stated in both ways, or the tensor is not a list of floats.
  bool expect_valid(Infer& i, std::string_view name) const {
    if (tensor) {
      const AnyView v = view();
      if (!floats.empty()) i.fail(name, " and ", name, "_as_tensor are both given");
      else if (v.dtype() != DType::float64 && v.dtype() != DType::float32)
        i.fail_type(name, "_as_tensor: tensor(", v.dtype(), ") ", Dims(v.extents()),
                    ", expected a list of double");
      else if (v.rank() != 1)
        i.fail(name, "_as_tensor: tensor(", v.dtype(), ") ", Dims(v.extents()), ", expected a list");
    }
    return !i.failed();
  }
};

/// Votes for the nodes that numbers of trees and of nodes name: class_… and target_….
struct NumberedVotes {
  std::string_view weights_name;
  std::span<const int64_t> treeids, nodeids, ids;
  NumberList weights;
};

/// The attributes of Op, TreeEnsembleClassifier or TreeEnsembleRegressor: nodes under numbers of trees and of
/// nodes, and votes for them.
template <class Op>
struct NumberedTrees {
  const Op& op;
  NumberedVotes votes;

  /// The rule: as many entries as nodes, as many as votes, and base values for all targets, or one.
  bool expect_lists(Infer& i, int64_t targets) const {
    const NumberList lists[] = {base(), hitrates(), values()};
    if (!lists[0].expect_valid(i, "base_values") || !lists[1].expect_valid(i, "nodes_hitrates") ||
        !lists[2].expect_valid(i, "nodes_values") || !votes.weights.expect_valid(i, votes.weights_name))
      return false;
    const int64_t base_values = lists[0].view().size();
    if (base_values > 1 && base_values != targets)
      return i.fail("base_values: ", base_values, " entries for ", targets, " targets"), false;
    const auto n = std::ssize(op.nodes_treeids), count = std::ssize(votes.ids);
    const auto all = [&](const char* name, int64_t entries) { return i.expect_entries(name, entries, n); };
    const auto all_or_none = [&](const char* name, int64_t entries) {
      return entries == 0 || all(name, entries);
    };
    return all("nodes_nodeids", std::ssize(op.nodes_nodeids)) &&
           all("nodes_featureids", std::ssize(op.nodes_featureids)) &&
           all("nodes_modes", std::ssize(op.nodes_modes)) && all("nodes_values", lists[2].view().size()) &&
           all("nodes_truenodeids", std::ssize(op.nodes_truenodeids)) &&
           all("nodes_falsenodeids", std::ssize(op.nodes_falsenodeids)) &&
           all_or_none("nodes_hitrates", lists[1].view().size()) &&
           all_or_none("nodes_missing_value_tracks_true", std::ssize(op.nodes_missing_value_tracks_true)) &&
           i.expect_entries("nodeids of votes", votes.nodeids.size(), count) &&
           i.expect_entries("treeids of votes", votes.treeids.size(), count) &&
           i.expect_entries("weights of votes", votes.weights.view().size(), count);
  }

  /// Error{invalid_model} for modes that do not exist, numbers that name no node, or two, and cycles;
  /// Error{out_of_range} for votes for other than `targets` targets, and features below 0.
  template <class C>
  TreeModel<C> model(int64_t targets) const {
    constexpr std::string_view name = Op::spec.name;
    const std::size_t n = op.nodes_treeids.size();
    const Places places(op.nodes_treeids, op.nodes_nodeids);
    std::vector<char> leaf(n);
    for (std::size_t k = 0; k < n; ++k) leaf[k] = op.nodes_modes[k] == "LEAF";
    const auto is_leaf = [&](int64_t at) { return leaf[static_cast<std::size_t>(at)] != 0; };
    Scratch scratch;
    const double* bounds = numbers<double>(scratch, values().view());
    std::vector<kernels::StatedNode> nodes(n);
    for (std::size_t k = 0; k < n; ++k) {
      if (is_leaf(static_cast<int64_t>(k))) continue;
      const auto child = [&](int64_t number) -> int64_t {
        const int64_t at = places.find(op.nodes_treeids[k], number, k);
        if (at < 0)
          raise(ErrorCode::invalid_model, name, "node ", op.nodes_nodeids[k], " of tree ",
                op.nodes_treeids[k], " names node ", number, ", which is not there");
        return is_leaf(at) ? ~at : at;
      };
      nodes[k] = {.test = test(op.nodes_modes[k]),
                  .nan_is_true = !op.nodes_missing_value_tracks_true.empty() &&
                                 op.nodes_missing_value_tracks_true[k] != 0,
                  .feature = tree_feature(name, op.nodes_featureids[k]),
                  .bound = bounds[k],
                  .if_true = child(op.nodes_truenodeids[k]),
                  .if_false = child(op.nodes_falsenodeids[k])};
    }
    // Votes in the order of their nodes, and for one node in the order in which they are stated.
    const std::span<const int64_t> ids = votes.ids;
    std::vector<int64_t> at(ids.size()), first(n + 1, 0);
    for (std::size_t v = 0; v < at.size(); ++v) {
      at[v] =
          places.find(votes.treeids[v], votes.nodeids[v], static_cast<std::size_t>(v > 0 ? at[v - 1] : 0));
      if (at[v] < 0)
        raise(ErrorCode::invalid_model, name, "a vote names node ", votes.nodeids[v], " of tree ",
              votes.treeids[v], ", which is not there");
      if (ids[v] < 0 || ids[v] >= targets || ids[v] > INT32_MAX)
        raise(ErrorCode::out_of_range, name, "a vote for target ", ids[v], " of ", targets);
      ++first[static_cast<std::size_t>(at[v]) + 1];
    }
    for (std::size_t k = 0; k < n; ++k) first[k + 1] += first[k];
    const double* weights = numbers<double>(scratch, votes.weights.view());
    std::vector<kernels::TreeVote> in_order(at.size());
    std::vector<int64_t> next(first.begin(), first.end());
    for (std::size_t v = 0; v < at.size(); ++v)
      in_order[static_cast<std::size_t>(next[static_cast<std::size_t>(at[v])]++)] = {
          weights[v], static_cast<int32_t>(ids[v])};

    TreeModel<C> m;
    if (!ids.empty() && std::all_of(ids.begin(), ids.end(), [&](int64_t id) { return id == ids[0]; }))
      m.only_target = ids[0];
    m.negative_weights = std::any_of(weights, weights + ids.size(), [](double w) { return w < 0; });
    std::vector<int64_t> roots = places.roots();
    for (int64_t& root : roots)
      if (is_leaf(root)) root = ~root;
    m.table = lay_out_trees<C>(name, nodes, roots, std::move(first), std::move(in_order));
    m.targets = targets;
    m.transform = post_transform_of(op.post_transform);
    const AnyView stated = base().view();
    const double* base_values = numbers<double>(scratch, stated);
    m.base.assign(base_values, base_values + stated.size());
    if (m.base.size() == 1) m.base.resize(static_cast<std::size_t>(targets), m.base[0]);
    return m;
  }

 private:
  NumberList base() const { return {op.base_values, op.base_values_as_tensor}; }
  NumberList hitrates() const { return {op.nodes_hitrates, op.nodes_hitrates_as_tensor}; }
  NumberList values() const { return {op.nodes_values, op.nodes_values_as_tensor}; }

  /// The places of nodes by their numbers.
  class Places {
   public:
    Places(std::span<const int64_t> trees, std::span<const int64_t> nodes) : trees_(trees), nodes_(nodes) {
      const std::size_t n = trees.size();
      order_.resize(n);
      bool sorted = true;
      for (std::size_t k = 0; k < n; ++k) {
        order_[k] = static_cast<int64_t>(k);
        sorted = sorted && (k == 0 || key(static_cast<int64_t>(k - 1)) < key(static_cast<int64_t>(k)));
      }
      if (sorted) return;
      std::sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) { return key(a) < key(b); });
      for (std::size_t k = 1; k < n; ++k)
        if (key(order_[k - 1]) == key(order_[k]))
          raise(ErrorCode::invalid_model, Op::spec.name, "node ", key(order_[k]).second, " of tree ",
                key(order_[k]).first, " is stated twice");
    }
    /// -1 if there is no such node. Numbers are mostly consecutive, in the order of a tree's nodes, so the
    /// place of one, `near`, gives the place of another.
    int64_t find(int64_t tree, int64_t node, std::size_t near) const {
      const std::pair<int64_t, int64_t> wanted(tree, node);
      if (near < order_.size()) {
        const std::size_t guess =
            near + (static_cast<std::size_t>(node) - static_cast<std::size_t>(key(order_[near]).second));
        if (guess < order_.size() && key(order_[guess]) == wanted) return order_[guess];
      }
      const auto it = std::lower_bound(order_.begin(), order_.end(), wanted,
                                       [&](int64_t at, const auto& w) { return key(at) < w; });
      return it != order_.end() && key(*it) == wanted ? *it : -1;
    }
    /// The first stated node of each tree.
    std::vector<int64_t> roots() const {
      std::vector<int64_t> r;
      for (std::size_t k = 0; k < order_.size(); ++k)
        if (k == 0 || key(order_[k]).first != key(order_[k - 1]).first) r.push_back(order_[k]);
        else r.back() = std::min(r.back(), order_[k]);
      return r;
    }

   private:
    std::pair<int64_t, int64_t> key(int64_t at) const {
      const auto k = static_cast<std::size_t>(at);
      return {trees_[k], nodes_[k]};
    }
    std::span<const int64_t> trees_, nodes_;
    std::vector<int64_t> order_;
  };

  static kernels::TreeTest test(std::string_view mode) {
    static constexpr std::string_view modes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                 "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    for (std::size_t m = 0; m < std::size(modes); ++m)
      if (mode == modes[m]) return static_cast<kernels::TreeTest>(m);
    raise(ErrorCode::invalid_model, Op::spec.name, "nodes_modes: '", mode, "' is no mode");
  }
};

}  // namespace tenon::TENON_ABI::op
