// Decision trees over rows of features. Every test that a model may state (comparisons, equality, membership
// in a set) becomes comparisons of one kind, x <= bound, so that one loop without branches walks all trees.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/scratch.hpp"

namespace tenon::TENON_ABI::kernels {

/// The test that a node applies to its feature.
enum class TreeTest : uint8_t { leq, lt, gte, gt, eq, neq, member };

/// A node as stated by a model. A child is the index of a node, or ~index of a leaf.
struct StatedNode {
  TreeTest test = TreeTest::leq;
  bool nan_is_true = false;  ///< the branch of a NaN
  int32_t feature = 0;       ///< at least 0
  double bound = 0;
  std::span<const double> members{};  ///< of TreeTest::member, without NaN
  int64_t if_true = 0, if_false = 0;
};

/// A leaf's contribution to the score of one target.
struct TreeVote {
  double weight;
  int32_t target;
  int32_t unused = 0;  ///< so that stored votes have no padding bytes
};

/// How votes for one target are combined.
enum class TreeJoin : uint8_t { sum, min, max };

/// Trees laid out for walking: nodes in the order of a depth-first walk, each with the index of the next one
/// for either answer, a leaf as ~index. Nodes and leaves may have several parents. C, float or double, is the
/// type of features; comparisons with them give the same answers as comparisons with bounds in double.
template <class C>
class TreeTable {
 public:
  /// The maximum number of nodes and leaves, so that their indices fit.
  static constexpr int64_t capacity = int64_t{1} << 29;

  /// `votes` of leaf k are those from first_vote[k] up to first_vote[k + 1]. Returns false, without a table,
  /// if a node is its own descendant, or if there are more than `capacity` nodes.
  bool build(std::span<const StatedNode> stated, std::span<const int64_t> roots,
             std::vector<int64_t> first_vote, std::vector<TreeVote> votes) {
    if (static_cast<int64_t>(std::max(stated.size(), first_vote.size())) > capacity) return false;
    first_vote_ = std::move(first_vote);
    votes_ = std::move(votes);
    on_path_.assign(stated.size(), false);
    std::vector<int32_t> place(stated.size(), unseen);
    std::vector<Step> open;
    for (const int64_t root : roots)
      if (!place_below(stated, settled(stated, root), place, open)) return false;
    const auto resolve = [&](int32_t code) {
      if (code >= 0) return code;
      const int32_t number = ~code / 2;
      return ~code % 2 == 1 ? ~number : place[static_cast<std::size_t>(number)];
    };
    for (Node& n : nodes_)
      for (int32_t& next : n.next) next = resolve(next);
    for (const int64_t root : roots) {
      roots_.push_back(resolve(outside(settled(stated, root))));
      full_levels_.push_back(count_full_levels(roots_.back()));
    }
    return true;
  }

  int64_t trees() const { return static_cast<int64_t>(roots_.size()); }
  /// The least number of features that rows must have.
  int64_t features() const { return features_; }

  /// Calls f(part) for all data that scores depend on, lists first: for serialising a table.
  template <class Table, class F>
  static void each_part(Table& table, F f) {
    f(table.nodes_), f(table.roots_), f(table.full_levels_), f(table.first_vote_), f(table.votes_);
    f(table.features_), f(table.track_nan_);
  }

  /// Combines the votes of all trees for some rows of `features` features into scores (rows, targets).
  void add_scores(TreeJoin join, const C* x, int64_t rows, int64_t features, int64_t targets,
                  double* scores) const {
    if (track_nan_) walk_all<true>(join, x, rows, features, targets, scores);
    else walk_all<false>(join, x, rows, features, targets, scores);
  }

 private:
  /// Goes to next[1] where the feature is at most `bound`. The upper bit of `feature` sends a NaN there too.
  struct Node {
    struct None {};
    C bound;
    uint32_t feature;
    int32_t next[2];
    [[no_unique_address]] std::conditional_t<sizeof(C) == 8, int32_t, None> unused{};
  };
  struct Step {
    int64_t node;
    int children;  ///< entered so far
  };
  static constexpr uint32_t nan_bit = uint32_t{1} << 31;
  static constexpr int32_t unseen = -1;
  static constexpr int lanes = 16;  ///< walks at once, to overlap the latency of their loads

  /// A node whose two children are the same leaf is replaced by that leaf.
  static int64_t settled(std::span<const StatedNode> stated, int64_t child) {
    if (child < 0) return child;
    const StatedNode& n = stated[static_cast<std::size_t>(child)];
    return n.if_true == n.if_false && n.if_true < 0 ? n.if_true : child;
  }
  /// The index by which laid-out nodes refer to a stated node or leaf until all places are known.
  static int32_t outside(int64_t child) {
    return static_cast<int32_t>(child < 0 ? ~(2 * ~child + 1) : ~(2 * child));
  }

  /// Lays out a node and all its descendants.
  bool place_below(std::span<const StatedNode> stated, int64_t root, std::vector<int32_t>& place,
                   std::vector<Step>& open) {
    const auto enter = [&](int64_t child) {
      if (child < 0) return true;
      const auto number = static_cast<std::size_t>(child);
      if (place[number] != unseen) return !on_path_[number];
      cut(stated[number]);
      if (nodes_.size() + bounds_.size() >= static_cast<std::size_t>(capacity)) return false;
      place[number] = static_cast<int32_t>(nodes_.size());
      on_path_[number] = true;
      lay_out(stated, stated[number]);
      open.push_back({child, 0});
      return true;
    };
    if (!enter(root)) return false;
    while (!open.empty()) {
      Step& s = open.back();
      const StatedNode& n = stated[static_cast<std::size_t>(s.node)];
      if (s.children == 2) {
        on_path_[static_cast<std::size_t>(s.node)] = false;
        open.pop_back();
      } else if (!enter(settled(stated, s.children++ == 0 ? n.if_true : n.if_false))) {
        return false;
      }
    }
    return true;
  }

  /// The intervals into which the bounds cut all numbers: numbers up to bounds_[0], from there up to
  /// bounds_[1], and so on. The answer changes from one to the next. A feature is at most a bound if it is at
  /// most the greatest C that is.
  void cut(const StatedNode& n) {
    constexpr double lowest = -std::numeric_limits<double>::infinity();
    const auto below = [](double v) { return std::nextafter(v, lowest); };
    const auto add = [this](double v) {
      C bound = static_cast<C>(v);
      if (bound > v) bound = std::nextafter(bound, -std::numeric_limits<C>::infinity());
      // There is nothing between two equal bounds.
      if (!bounds_.empty() && bounds_.back() == bound) bounds_.pop_back();
      else bounds_.push_back(bound);
    };
    const bool nan = n.bound != n.bound;
    bounds_.clear();
    first_answer_ = false;
    switch (n.test) {
      case TreeTest::leq:
      case TreeTest::gt:
        if (nan) return;
        add(n.bound);
        first_answer_ = n.test == TreeTest::leq;
        return;
      case TreeTest::lt:
      case TreeTest::gte:
        if (nan) return;
        first_answer_ = (n.test == TreeTest::lt) != (n.bound == lowest);
        if (n.bound != lowest) add(below(n.bound));
        return;
      case TreeTest::eq:
      case TreeTest::neq:
      case TreeTest::member: break;
    }
    members_.assign(n.members.begin(), n.members.end());
    if (n.test != TreeTest::member) members_.assign(nan ? 0 : 1, n.bound);
    std::sort(members_.begin(), members_.end());
    members_.erase(std::unique(members_.begin(), members_.end()), members_.end());
    for (const double m : members_) {
      if (m == lowest) first_answer_ = true;
      else add(below(m));
      add(m);
    }
    if (n.test == TreeTest::neq) first_answer_ = !first_answer_;
  }

  /// Adds the nodes for the intervals found by `cut`.
  void lay_out(std::span<const StatedNode> stated, const StatedNode& n) {
    features_ = std::max(features_, int64_t{n.feature} + 1);
    const int32_t child[2] = {outside(settled(stated, n.if_false)), outside(settled(stated, n.if_true))};
    const auto feature = static_cast<uint32_t>(n.feature);
    const auto count = static_cast<int64_t>(bounds_.size());
    if (count == 0) {
      nodes_.push_back(
          {std::numeric_limits<C>::infinity(), feature, {child[n.nan_is_true], child[first_answer_]}});
      return;
    }
    // NaN goes to the last interval with its answer: the last one, where nodes need no bit, or the one
    // before.
    const bool last_answer = first_answer_ != (count % 2 == 1);
    search(0, count, last_answer == n.nan_is_true ? count : count - 1, feature, child);
  }
  /// The root of a search tree over the bounds [first, last).
  int32_t search(int64_t first, int64_t last, int64_t nan_interval, uint32_t feature,
                 const int32_t (&child)[2]) {
    if (first == last) return child[first_answer_ != (first % 2 == 1)];
    const int64_t middle = first + (last - first) / 2;
    const bool nan_left = nan_interval <= middle;
    track_nan_ |= nan_left;
    const std::size_t at = nodes_.size();
    nodes_.push_back({bounds_[static_cast<std::size_t>(middle)], feature | (nan_left ? nan_bit : 0), {}});
    const int32_t left = search(first, middle, nan_interval, feature, child);
    const int32_t right = search(middle + 1, last, nan_interval, feature, child);
    nodes_[at].next[1] = left;
    nodes_[at].next[0] = right;
    return static_cast<int32_t>(at);
  }

  /// Levels of a tree from the root on that contain no leaf; counting stops at a level with many nodes.
  int32_t count_full_levels(int32_t root) const {
    constexpr std::size_t most = 1 << 8;
    std::vector<int32_t> level{root}, below;
    for (int32_t levels = 0;; ++levels, level.swap(below)) {
      below.clear();
      for (const int32_t at : level) {
        if (at < 0) return levels;
        const Node& n = nodes_[static_cast<std::size_t>(at)];
        below.insert(below.end(), n.next, n.next + 2);
      }
      if (below.size() > most) return levels + 1;
    }
  }

  /// Walks `lanes` pairs of a tree and a row down to their leaves. No walk ends before `full_levels`.
  template <bool nans>
  void walk(int32_t (&at)[lanes], const C* const (&row)[lanes], int32_t full_levels) const {
    const Node* const nodes = nodes_.data();
    const auto all_are_leaves = [&] {
      int32_t joined = -1;
      for (int k = 0; k < lanes; ++k) joined &= at[k];
      return joined < 0;
    };
    const auto below = [&](int k, const Node& n) {
      const C x = row[k][n.feature & ~nan_bit];
      bool left = x <= n.bound;
      if constexpr (nans) left |= (x != x) & ((n.feature & nan_bit) != 0);
      return n.next[left];
    };
    for (; full_levels > 0; --full_levels)
#pragma GCC unroll 16
      for (int k = 0; k < lanes; ++k) at[k] = below(k, nodes[at[k]]);
    while (!all_are_leaves())
#pragma GCC unroll 16
      for (int k = 0; k < lanes; ++k) {
        const int32_t next = below(k, nodes[at[k] < 0 ? 0 : at[k]]);
        at[k] = at[k] < 0 ? at[k] : next;
      }
  }

  void vote(TreeJoin join, int32_t leaf, double* scores) const {
    const auto number = static_cast<std::size_t>(~leaf);
    for (int64_t v = first_vote_[number]; v < first_vote_[number + 1]; ++v) {
      const TreeVote& vote = votes_[static_cast<std::size_t>(v)];
      double& score = scores[vote.target];
      const double weight = vote.weight;
      switch (join) {
        case TreeJoin::sum: score += weight; break;
        case TreeJoin::min: score = weight < score ? weight : score; break;
        case TreeJoin::max: score = weight > score ? weight : score; break;
      }
    }
  }

  template <bool nans>
  void walk_all(TreeJoin join, const C* x, int64_t rows, int64_t features, int64_t targets,
                double* scores) const {
    int32_t at[lanes];
    const C* row[lanes];
    // Lanes past the end repeat the last row or tree.
    if (rows >= lanes) {
      for (std::size_t t = 0; t < roots_.size(); ++t)
        for (int64_t r = 0; r < rows; r += lanes) {
          for (int k = 0; k < lanes; ++k) {
            at[k] = roots_[t];
            row[k] = x + std::min(r + k, rows - 1) * features;
          }
          walk<nans>(at, row, full_levels_[t]);
          for (int k = 0; k < lanes && r + k < rows; ++k) vote(join, at[k], scores + (r + k) * targets);
        }
      return;
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int k = 0; k < lanes; ++k) row[k] = x + r * features;
      for (int64_t t = 0; t < trees(); t += lanes) {
        int32_t full_levels = std::numeric_limits<int32_t>::max();
        for (int k = 0; k < lanes; ++k) {
          const auto tree = static_cast<std::size_t>(std::min(t + k, trees() - 1));
          at[k] = roots_[tree];
          full_levels = std::min(full_levels, full_levels_[tree]);
        }
        walk<nans>(at, row, full_levels);
        for (int k = 0; k < lanes && t + k < trees(); ++k) vote(join, at[k], scores + r * targets);
      }
    }
  }

  std::vector<Node> nodes_;
  std::vector<int32_t> roots_, full_levels_;  // of each tree
  std::vector<int64_t> first_vote_;
  std::vector<TreeVote> votes_;
  int64_t features_ = 0;
  bool track_nan_ = false;

  // Used by `build` only.
  std::vector<bool> on_path_;
  std::vector<C> bounds_;
  std::vector<double> members_;
  bool first_answer_ = false;
};

/// Scores of x (rows, features), block by block: finish(first, count, scores) gets the scores (count,
/// targets) of the rows from `first` on, which start from `initial`. X converts to C.
template <class C, class X, class F>
void tree_ensemble(const TreeTable<C>& table, TreeJoin join, double initial, const X* x, int64_t rows,
                   int64_t features, int64_t targets, const F& finish) {
  constexpr int64_t block = 64, steps = task_work::moderate;
  const int64_t work = 8 * std::max<int64_t>(table.trees(), 1);
  parallel_for(rows, std::max(block, steps / work), [&](int64_t begin, int64_t end) {
    Scratch scratch;
    const int64_t most = std::min(block, end - begin);
    double* scores = scratch.take<double>(most * targets);
    C* own = std::is_same_v<C, X> ? nullptr : scratch.take<C>(most * features);
    for (int64_t first = begin; first < end; first += block) {
      const int64_t count = std::min(block, end - first);
      const X* from = x + first * features;
      std::fill_n(scores, count * targets, initial);
      if constexpr (std::is_same_v<C, X>) {
        table.add_scores(join, from, count, features, targets, scores);
      } else {
        for (int64_t k = 0; k < count * features; ++k) own[k] = static_cast<C>(from[k]);
        table.add_scores(join, own, count, features, targets, scores);
      }
      finish(first, count, scores);
    }
  });
}

}  // namespace tenon::TENON_ABI::kernels
