#include "tenon/kernels/tree_ensemble.hpp"

#include <doctest/doctest.h>

#include <random>

namespace tenon::kernels {
namespace {

/// Random trees, with nodes and leaves of several parents, and the walk that the statement of a node
/// describes.
template <class C>
struct Forest {
  std::vector<StatedNode> nodes;
  std::vector<std::vector<double>> sets;
  std::vector<int64_t> roots, first_vote;
  std::vector<TreeVote> votes;
  int64_t features = 3, targets = 2;

  explicit Forest(uint64_t seed, bool only_leq = false) {
    std::mt19937_64 random(seed);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    const int64_t n = 1 + below(40), leaves = 1 + below(20);
    sets.resize(static_cast<std::size_t>(n));
    for (int64_t k = 0; k < n; ++k) {
      // Children come after their parents.
      const auto child = [&] {
        return k + 1 < n && below(3) != 0 ? k + 1 + below(std::min<int64_t>(n - k - 1, 6)) : ~below(leaves);
      };
      StatedNode node{.test = only_leq ? TreeTest::leq : static_cast<TreeTest>(below(7)),
                      .nan_is_true = !only_leq && below(2) == 1,
                      .feature = static_cast<int32_t>(below(features)),
                      .bound = bound(below(18))};
      node.if_true = child();
      node.if_false = child();
      auto& set = sets[static_cast<std::size_t>(k)];
      for (int64_t m = below(6); m > 0; --m)
        if (const double v = bound(below(18)); v == v) set.push_back(v);
      node.members = set;
      nodes.push_back(node);
    }
    for (int64_t r = 1 + below(20); r > 0; --r) roots.push_back(below(n));
    first_vote.push_back(0);
    for (int64_t l = 0; l < leaves; ++l) {
      for (int64_t v = below(3); v > 0; --v)
        votes.push_back({static_cast<double>(below(9) - 4), static_cast<int32_t>(below(targets))});
      first_vote.push_back(static_cast<int64_t>(votes.size()));
    }
  }
  static C value(int64_t k) {
    const C least = std::numeric_limits<C>::denorm_min(), inf = std::numeric_limits<C>::infinity();
    const C values[] = {0,
                        -C(0),
                        1,
                        -1,
                        2,
                        0.5,
                        least,
                        -least,
                        inf,
                        -inf,
                        std::nextafter(C(1), C(2)),
                        std::numeric_limits<C>::quiet_NaN()};
    return values[k];
  }
  /// These, and numbers that only a double can be.
  static double bound(int64_t k) {
    const double others[] = {1e300, -1e300, 1e-320, -1e-320, 1 - 1e-12, 1 + 1e-12};
    return k < 12 ? static_cast<double>(value(k)) : others[k - 12];
  }
  bool holds(const StatedNode& n, C x) const {
    if (x != x) return n.nan_is_true;
    switch (n.test) {
      case TreeTest::leq: return x <= n.bound;
      case TreeTest::lt: return x < n.bound;
      case TreeTest::gte: return x >= n.bound;
      case TreeTest::gt: return x > n.bound;
      case TreeTest::eq: return x == n.bound;
      case TreeTest::neq: return x != n.bound;
      case TreeTest::member: return std::find(n.members.begin(), n.members.end(), x) != n.members.end();
    }
    return false;
  }
  void vote(TreeJoin join, const C* x, double* scores) const {
    for (int64_t at : roots) {
      while (at >= 0) {
        const StatedNode& n = nodes[static_cast<std::size_t>(at)];
        at = holds(n, x[n.feature]) ? n.if_true : n.if_false;
      }
      for (int64_t v = first_vote[static_cast<std::size_t>(~at)];
           v < first_vote[static_cast<std::size_t>(~at) + 1]; ++v) {
        const double weight = votes[static_cast<std::size_t>(v)].weight;
        double& s = scores[votes[static_cast<std::size_t>(v)].target];
        s = join == TreeJoin::sum   ? s + weight
            : join == TreeJoin::min ? std::min<double>(s, weight)
                                    : std::max<double>(s, weight);
      }
    }
  }
};

template <class C>
void check_forests(bool only_leq) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    const Forest<C> f(seed, only_leq);
    TreeTable<C> table;
    REQUIRE(table.build(f.nodes, f.roots, f.first_vote, f.votes));
    CHECK(table.trees() == static_cast<int64_t>(f.roots.size()));
    CHECK(table.features() <= f.features);
    std::mt19937_64 random(seed);
    const auto rows = static_cast<int64_t>(1 + random() % 100);
    std::vector<C> x(static_cast<std::size_t>(rows * f.features));
    for (C& v : x) v = Forest<C>::value(static_cast<int64_t>(random() % 12));
    for (const TreeJoin join : {TreeJoin::sum, TreeJoin::min, TreeJoin::max}) {
      std::vector<double> expected(static_cast<std::size_t>(rows * f.targets), 0.5), actual(expected.size());
      for (int64_t r = 0; r < rows; ++r)
        f.vote(join, x.data() + r * f.features, expected.data() + r * f.targets);
      tree_ensemble(table, join, 0.5, x.data(), rows, f.features, f.targets,
                    [&](int64_t first, int64_t count, const double* scores) {
                      std::copy_n(scores, count * f.targets, actual.data() + first * f.targets);
                    });
      CHECK(actual == expected);
    }
  }
}

}  // namespace

TEST_CASE("Trees: the walk that nodes describe") {
  for (const bool only_leq : {false, true}) {
    check_forests<float>(only_leq);
    check_forests<double>(only_leq);
  }
}

TEST_CASE("Trees: cycles") {
  using Node = StatedNode;
  const auto builds = [](std::vector<Node> nodes, std::vector<int64_t> roots) {
    return TreeTable<float>().build(nodes, roots, {0, 0}, {});
  };
  CHECK(builds({Node{.if_true = ~0, .if_false = ~0}}, {0, 0, ~0}));
  CHECK_FALSE(builds({Node{.if_true = 0, .if_false = ~0}}, {0}));
  CHECK_FALSE(builds({Node{.if_true = 1, .if_false = ~0}, Node{.if_true = ~0, .if_false = 0}}, {0}));
  // A node that no root leads to is not looked at, one with two parents is no cycle.
  CHECK(builds({Node{.if_true = ~0, .if_false = ~0}, Node{.if_true = 1, .if_false = ~0}}, {0}));
  CHECK(builds({Node{.if_true = 1, .if_false = 1}, Node{.if_true = ~0, .if_false = ~0}}, {0}));
  CHECK(builds({}, {}));
}

TEST_CASE("Trees: deep ones") {
  std::vector<StatedNode> nodes(200000);
  for (std::size_t k = 0; k < nodes.size(); ++k)
    nodes[k] = {.bound = static_cast<double>(k), .if_true = ~0, .if_false = static_cast<int64_t>(k) + 1};
  nodes.back().if_false = ~1;
  TreeTable<float> table;
  const int64_t root = 0;
  REQUIRE(table.build(nodes, {&root, 1}, {0, 1, 2}, {{1, 0}, {2, 0}}));
  const int32_t x[] = {0, 199999, 200000};
  std::vector<double> scores;
  tree_ensemble(table, TreeJoin::sum, 0, x, 3, 1, 1,
                [&](int64_t, int64_t count, const double* s) { scores.assign(s, s + count); });
  CHECK(scores == std::vector<double>{1, 1, 2});
}

}  // namespace tenon::kernels
