// TreeEnsemble, TreeEnsembleClassifier and TreeEnsembleRegressor share trees, their layout for the kernel,
// and the way votes become scores.
#pragma once

#include <algorithm>

#include "tenon/kernels/tree_ensemble.hpp"
#include "tenon/op/families/labels.hpp"
#include "tenon/op/families/scores.hpp"
#include "tenon/op/families/wide.hpp"
#include "tenon/op/framework/attribute.hpp"

namespace tenon::op {

/// How the leaves of all trees make a score, under the numbers by which TreeEnsemble names it.
enum class TreeAggregate : uint8_t { average, sum, min, max };

/// Trees laid out for the kernel, with what becomes of their votes.
template <class C>
struct TreeModel {
  kernels::TreeTable<C> table;
  int64_t targets = 1;
  TreeAggregate aggregate = TreeAggregate::sum;
  PostTransform transform = PostTransform::none;
  std::vector<double> base{};     ///< one for each target, or empty
  int64_t only_target = -1;       ///< the target of all votes, if they share one
  bool negative_weights = false;  ///< whether a vote has a weight below 0

  /// Scores of all rows, before the transform: finish(first, count, scores) gets those (count, targets) of
  /// the rows from `first` on. A target without a vote has the score 0, or where the least (greatest) vote
  /// counts the greatest (least) number of type R. Error{out_of_range} where rows have fewer features than
  /// nodes ask for.
  template <class R, class T, class F>
  void score(std::string_view name, TensorView<const T> x, const F& finish) const {
    using Join = kernels::TreeJoin;
    const bool least = aggregate == TreeAggregate::min, greatest = aggregate == TreeAggregate::max;
    const int64_t rows = x.extent(0), features = x.extent(1);
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
                             if (!base.empty())
                               for (int64_t k = 0; k < count * targets; ++k)
                                 scores[k] += base[static_cast<std::size_t>(k % targets)];
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

/// The numbers of a list of float or double.
template <class C>
std::vector<C> number_list(AnyView list) {
  std::vector<C> numbers(static_cast<std::size_t>(list.size()));
  dispatch<float, double, float16>(list.dtype(), [&]<class T>() {
    for (std::size_t k = 0; k < numbers.size(); ++k)
      numbers[k] = static_cast<C>(static_cast<const T*>(list.data())[k]);
  });
  return numbers;
}

template <class C>
kernels::TreeTable<C> lay_out_trees(std::string_view name, std::span<const kernels::StatedNode<C>> nodes,
                                    std::span<const int64_t> roots, std::vector<int64_t> first_vote,
                                    std::vector<kernels::TreeVote<C>> votes) {
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

/// The attributes of TreeEnsembleClassifier and TreeEnsembleRegressor: nodes under numbers of trees and of
/// nodes, and votes (class_… or target_…) for nodes under such numbers.
struct NumberedTrees {
  std::span<const int64_t> nodes_treeids, nodes_nodeids, nodes_featureids, nodes_truenodeids,
      nodes_falsenodeids, nodes_missing_value_tracks_true;
  std::span<const std::string> nodes_modes;
  AnyView nodes_values, nodes_hitrates;
  std::span<const int64_t> vote_treeids, vote_nodeids, vote_ids;
  AnyView weights, base_values;

  /// What an attribute states as floats or as a tensor.
  static AnyView numbers(const std::vector<float>& floats, const TensorAttribute& tensor) {
    return tensor ? tensor.value.tensor().view() : list_view(floats);
  }
  /// Fails where an attribute is stated in two ways, or its tensor is no list of floats.
  static bool expect_numbers(Infer& i, std::string_view name, const std::vector<float>& floats,
                             const TensorAttribute& tensor) {
    if (tensor) {
      const AnyView v = tensor.value.tensor().view();
      if (!floats.empty()) i.fail(name, " and ", name, "_as_tensor are both given");
      else if (v.rank() != 1 || (v.dtype() != DType::float64 && v.dtype() != DType::float32))
        i.fail(name, "_as_tensor: tensor(", v.dtype(), ") ", Dims(v.extents()),
               ", expected a list of double");
    }
    return !i.failed();
  }

  /// The rule: as many entries as nodes, as many as votes, and base values for all targets, or one.
  bool expect_lists(Infer& i, Dim targets) const {
    const auto n = static_cast<int64_t>(nodes_treeids.size()), votes = static_cast<int64_t>(vote_ids.size());
    const auto same = [&](const char* name, auto count, int64_t expected) {
      return i.expect_entries(name, static_cast<int64_t>(count), expected);
    };
    const int64_t base = base_values.size();
    if (base > 1 && targets.differs(base))
      i.fail("base_values: ", base, " entries for ", targets, " targets");
    const auto nodes_or_none = [&](auto count) { return count == 0 ? 0 : n; };
    return !i.failed() && same("nodes_nodeids", nodes_nodeids.size(), n) &&
           same("nodes_featureids", nodes_featureids.size(), n) &&
           same("nodes_modes", nodes_modes.size(), n) && same("nodes_values", nodes_values.size(), n) &&
           same("nodes_truenodeids", nodes_truenodeids.size(), n) &&
           same("nodes_falsenodeids", nodes_falsenodeids.size(), n) &&
           same("nodes_hitrates", nodes_hitrates.size(), nodes_or_none(nodes_hitrates.size())) &&
           same("nodes_missing_value_tracks_true", nodes_missing_value_tracks_true.size(),
                nodes_or_none(nodes_missing_value_tracks_true.size())) &&
           same("nodeids of votes", vote_nodeids.size(), votes) &&
           same("treeids of votes", vote_treeids.size(), votes) &&
           same("weights of votes", weights.size(), votes);
  }
  /// Whether features of this type are compared as doubles.
  bool in_double(DType x) const {
    return x != DType::float32 || nodes_values.dtype() == DType::float64 || weights.dtype() == DType::float64;
  }

  /// Error{invalid_model} for modes that do not exist, numbers that name no node, or two, and cycles;
  /// Error{out_of_range} for votes for other than `targets` targets, and features below 0.
  template <class C>
  TreeModel<C> model(std::string_view name, int64_t targets) const {
    const std::size_t n = nodes_treeids.size();
    const Places places(name, *this);
    const std::vector<C> bounds = number_list<C>(nodes_values);
    std::vector<kernels::StatedNode<C>> nodes(n);
    for (std::size_t k = 0; k < n; ++k) {
      if (nodes_modes[k] == "LEAF") continue;
      const auto child = [&](int64_t number) -> int64_t {
        const int64_t at = places.find(nodes_treeids[k], number);
        if (at < 0)
          raise(ErrorCode::invalid_model, name, "node ", nodes_nodeids[k], " of tree ", nodes_treeids[k],
                " names node ", number, ", which is not there");
        return nodes_modes[static_cast<std::size_t>(at)] == "LEAF" ? ~at : at;
      };
      nodes[k] = {
          .test = test(name, nodes_modes[k]),
          .nan_is_true = !nodes_missing_value_tracks_true.empty() && nodes_missing_value_tracks_true[k] != 0,
          .feature = tree_feature(name, nodes_featureids[k]),
          .bound = bounds[k],
          .if_true = child(nodes_truenodeids[k]),
          .if_false = child(nodes_falsenodeids[k])};
    }
    // Votes in the order of their nodes, those of one node in the order in which they are stated.
    std::vector<int64_t> at(vote_ids.size()), first(n + 1, 0);
    for (std::size_t v = 0; v < at.size(); ++v) {
      at[v] = places.find(vote_treeids[v], vote_nodeids[v]);
      if (at[v] < 0)
        raise(ErrorCode::invalid_model, name, "a vote names node ", vote_nodeids[v], " of tree ",
              vote_treeids[v], ", which is not there");
      if (vote_ids[v] < 0 || vote_ids[v] >= targets || vote_ids[v] > INT32_MAX)
        raise(ErrorCode::out_of_range, name, "a vote for target ", vote_ids[v], " of ", targets);
      ++first[static_cast<std::size_t>(at[v]) + 1];
    }
    for (std::size_t k = 0; k < n; ++k) first[k + 1] += first[k];
    const std::vector<C> weight = number_list<C>(weights);
    std::vector<kernels::TreeVote<C>> votes(at.size());
    std::vector<int64_t> next(first.begin(), first.end());
    for (std::size_t v = 0; v < at.size(); ++v)
      votes[static_cast<std::size_t>(next[static_cast<std::size_t>(at[v])]++)] = {
          weight[v], static_cast<int32_t>(vote_ids[v])};

    TreeModel<C> m;
    const auto shared = [&](int64_t id) { return id == vote_ids[0]; };
    if (!vote_ids.empty() && std::all_of(vote_ids.begin(), vote_ids.end(), shared))
      m.only_target = vote_ids[0];
    m.negative_weights = std::any_of(weight.begin(), weight.end(), [](C w) { return w < 0; });
    std::vector<int64_t> roots = places.roots();
    for (int64_t& root : roots)
      if (nodes_modes[static_cast<std::size_t>(root)] == "LEAF") root = ~root;
    m.table = lay_out_trees<C>(name, nodes, roots, std::move(first), std::move(votes));
    m.targets = targets;
    m.base = number_list<double>(base_values);
    if (m.base.size() == 1) m.base.assign(static_cast<std::size_t>(targets), m.base[0]);
    return m;
  }

 private:
  /// The places of nodes by their numbers.
  class Places {
   public:
    Places(std::string_view name, const NumberedTrees& trees) : trees_(trees) {
      const std::size_t n = trees.nodes_treeids.size();
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
          raise(ErrorCode::invalid_model, name, "node ", key(order_[k]).second, " of tree ",
                key(order_[k]).first, " is stated twice");
    }
    /// -1 where there is no such node.
    int64_t find(int64_t tree, int64_t node) const {
      const std::pair<int64_t, int64_t> wanted(tree, node);
      const auto it = std::lower_bound(order_.begin(), order_.end(), wanted,
                                       [&](int64_t at, const auto& w) { return key(at) < w; });
      return it != order_.end() && key(*it) == wanted ? *it : -1;
    }
    /// The node of each tree that is stated first.
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
      return {trees_.nodes_treeids[k], trees_.nodes_nodeids[k]};
    }
    const NumberedTrees& trees_;
    std::vector<int64_t> order_;
  };

  static kernels::TreeTest test(std::string_view name, std::string_view mode) {
    static constexpr std::string_view modes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                 "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    for (std::size_t m = 0; m < std::size(modes); ++m)
      if (mode == modes[m]) return static_cast<kernels::TreeTest>(m);
    raise(ErrorCode::invalid_model, name, "nodes_modes: '", mode, "' is no mode");
  }
};

}  // namespace tenon::op
