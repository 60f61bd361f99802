#include "tenon/op/traditionalml/tree_ensemble.hpp"

#include <cmath>

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using E = op::TreeEnsemble;

namespace {
const double nan = std::nan("");

op::TensorAttribute list(DType d, std::initializer_list<double> values) {
  return {cast(d, {static_cast<int64_t>(values.size())}, values)};
}
/// Two trees of one node each, on features 0 and 1 with bound 1: the first gives target 0 10 or 20, the
/// second target 0 1, or target 1 5.
E stumps(uint8_t mode = 0, DType d = DType::float32) {
  return {.leaf_targetids = {0, 0, 0, 1},
          .leaf_weights = list(d, {10, 20, 1, 5}),
          .n_targets = 2,
          .nodes_falseleafs = {1, 1},
          .nodes_falsenodeids = {1, 3},
          .nodes_featureids = {0, 1},
          .nodes_modes = {t<uint8_t>({2}, {mode, mode})},
          .nodes_splits = list(d, {1, 1}),
          .nodes_trueleafs = {1, 1},
          .nodes_truenodeids = {0, 2},
          .tree_roots = {0, 1}};
}
/// A chain on feature 0: at most 11, else leaf 2; in {1.5, 4, 8, 9}, leaf 0; in {12, 7}, leaf 1; else leaf 3.
E sets(DType d = DType::float32) {
  return {.leaf_targetids = {0, 1, 2, 3},
          .leaf_weights = list(d, {1, 10, 1000, 100}),
          .membership_values = list(d, {1.5, 4, 8, 9, nan, 12, 7, nan}),
          .n_targets = 4,
          .nodes_falseleafs = {1, 0, 1},
          .nodes_falsenodeids = {2, 2, 3},
          .nodes_featureids = {0, 0, 0},
          .nodes_modes = {t<uint8_t>({3}, {0, 6, 6})},
          .nodes_splits = list(d, {11, 0, nan}),
          .nodes_trueleafs = {0, 1, 1},
          .nodes_truenodeids = {1, 0, 1},
          .tree_roots = {0}};
}
}  // namespace

TEST_CASE("TreeEnsemble: modes, missing values, sets") {
  const bool o = true, n = false;
  struct Row {
    uint8_t mode;
    bool tests[4];
  } rows[] = {{0, {o, o, n, n}}, {1, {o, n, n, n}}, {2, {n, o, o, n}},
              {3, {n, n, o, n}}, {4, {n, o, n, n}}, {5, {o, n, o, n}}};
  for (const Row& row : rows)
    for (const DType d : {DType::float32, DType::float64, DType::float16}) {
      CAPTURE(int{row.mode});
      const Value x = cast(d, {4, 2}, {0, 0, 1, 1, 2, 2, nan, nan});
      const auto y = [&](bool missing) {
        Tensor<float> r(Extents{4, 2});
        for (int64_t k = 0; k < 4; ++k) {
          const bool test = k == 3 ? missing : row.tests[k];
          r(k, 0) = test ? 11 : 20;
          r(k, 1) = test ? 0 : 5;
        }
        AnyTensor to = AnyTensor::uninitialized(d, {4, 2});
        convert_n(d, to.out().data(), DType::float32, r.data(), r.size());
        return Value(to);
      };
      E e = stumps(row.mode, d);
      check(e, {x}, {y(false)});
      e.nodes_missing_value_tracks_true = {1, 1};
      check(e, {x}, {y(true)});
    }
  for (const DType d : {DType::float32, DType::float64, DType::float16}) {
    const Value x = cast(d, {7, 1}, {1.5, 3.5, -1, nan, 12, 7, 9});
    const Value y = cast(d, {7, 4}, {1,    0, 0, 0, 0,    0, 0, 100, 0, 0, 0, 100, 0, 0,
                                     1000, 0, 0, 0, 1000, 0, 0, 10,  0, 0, 1, 0,   0, 0});
    check(sets(d), {x}, {y});
  }
  E tracks = sets();
  tracks.nodes_missing_value_tracks_true = {1, 0, 1};
  check(tracks, {t<float>({1, 1}, {std::nanf("")})}, {t<float>({1, 4}, {0, 10, 0, 0})});
  // An empty set holds nothing.
  E empty = sets();
  empty.membership_values = list(DType::float32, {nan, 7, nan});
  check(empty, {t<float>({2, 1}, {8, 7})}, {t<float>({2, 4}, {0, 0, 0, 100, 0, 10, 0, 0})});
}

TEST_CASE("TreeEnsemble: aggregates, transforms, forms of trees") {
  const Value x = t<float>({2, 2}, {0, 0, 2, 2});
  const float most = std::numeric_limits<float>::max();
  const auto with = [](auto change) {
    E e = stumps();
    change(e);
    return e;
  };
  const auto sigmoid = [](double v) { return static_cast<float>(1 / (1 + std::exp(-v))); };
  struct Row {
    E op;
    Value y;
  } rows[] = {
      {stumps(), t<float>({2, 2}, {11, 0, 20, 5})},
      {with([](E& e) { e.aggregate_function = 0; }), t<float>({2, 2}, {5.5f, 0, 10, 2.5f})},
      {with([](E& e) { e.aggregate_function = 2; }), t<float>({2, 2}, {1, most, 20, 5})},
      {with([](E& e) { e.aggregate_function = 3; }), t<float>({2, 2}, {10, -most, 20, 5})},
      {with([](E& e) { e.post_transform = 1; }),
       t<float>({2, 2}, {sigmoid(11), sigmoid(-11), sigmoid(15), sigmoid(-15)})},
      {with([](E& e) { e.post_transform = 2; }), t<float>({2, 2}, {sigmoid(11), 0.5f, 1, sigmoid(5)})},
      {with([](E& e) { e.post_transform = 3; }), t<float>({2, 2}, {1, 0, sigmoid(15), sigmoid(-15)})},
      {with([](E& e) { e.n_targets = {}; }), t<float>({2, 2}, {11, 0, 20, 5})},
      {with([](E& e) { e.nodes_hitrates = list(DType::float32, {1, 1}); }), t<float>({2, 2}, {11, 0, 20, 5})},
      {with([](E& e) { e.tree_roots = {1, 1, 1}; }), t<float>({2, 2}, {3, 0, 0, 15})},
      {with([](E& e) { e.tree_roots = {}; }), t<float>({2, 2}, {0, 0, 0, 0})},
      // A tree that is one leaf; its feature means nothing.
      {with([](E& e) { e.nodes_falsenodeids[0] = 0, e.nodes_featureids[0] = -1; }),
       t<float>({2, 2}, {11, 0, 10, 5})},
  };
  for (const Row& row : rows) check(row.op, {x}, {row.y}, 1e-5, 1e-6);
  E probit = stumps();
  probit.leaf_weights = list(DType::float32, {0.25, 0.5, 0.25, 1});
  probit.post_transform = 4;
  check(probit, {t<float>({1, 2}, {2, 0})}, {t<float>({1, 2}, {0.674489f, 0})}, 1e-3);
  check(stumps(), {t<float>({0, 2}, {})}, {t<float>({0, 2}, {})});
  E least = stumps(0, DType::float16);
  least.aggregate_function = 2;
  check(least, {cast<float16>({1, 2}, {0, 0})}, {cast<float16>({1, 2}, {1, INFINITY})});
}

TEST_CASE("TreeEnsemble: refused") {
  const auto fails = [&](auto change, std::string_view text) {
    E e = sets();
    change(e);
    check_fails(e, {t<float>({1, 1}, {0})}, text);
  };
  fails([](E& e) { e.nodes_falseleafs.pop_back(); }, "nodes_falseleafs: 2 entries, expected 3");
  fails([](E& e) { e.nodes_falsenodeids.pop_back(); }, "nodes_falsenodeids: 2 entries");
  fails([](E& e) { e.nodes_trueleafs.pop_back(); }, "nodes_trueleafs: 2 entries");
  fails([](E& e) { e.nodes_truenodeids.pop_back(); }, "nodes_truenodeids: 2 entries");
  fails([](E& e) { e.nodes_featureids.pop_back(); }, "nodes_featureids: 2 entries");
  fails([](E& e) { e.nodes_missing_value_tracks_true = {1}; }, "nodes_missing_value_tracks_true: 1 entries");
  fails([](E& e) { e.leaf_targetids.pop_back(); }, "leaf_targetids: 3 entries, expected 4");
  fails([](E& e) { e.nodes_modes = {t<uint8_t>({1}, {0})}; }, "nodes_modes: 1 entries, expected 3");
  fails([](E& e) { e.nodes_modes = {t<int64_t>({3}, {0, 6, 6})}; },
        "nodes_modes: tensor(int64) (3), expected a list of uint8");
  fails([](E& e) { e.nodes_splits = list(DType::float64, {1, 2, 3}); },
        "nodes_splits: tensor(double) (3), expected a list of float");
  fails([](E& e) { e.leaf_weights = {t<float>({2, 2}, {1, 2, 3, 4})}; }, "leaf_weights: tensor(float) (2,2)");
  fails([](E& e) { e.membership_values = list(DType::float64, {1}); }, "membership_values: tensor(double)");
  fails([](E& e) { e.nodes_hitrates = list(DType::float32, {1}); }, "nodes_hitrates: 1 entries");
  fails([](E& e) { e.nodes_modes = {t<uint8_t>({3}, {0, 7, 6})}; }, "mode 7 of node 1");
  fails([](E& e) { e.membership_values = {}; }, "membership_values has no set for node 1");
  fails([](E& e) { e.membership_values = list(DType::float32, {1, nan, 2}); },
        "membership_values has no set for node 2");
  fails([](E& e) { e.nodes_modes = {t<uint8_t>({3}, {0, 6, 0})}; }, "has more sets than there are nodes");
  fails([](E& e) { e.nodes_truenodeids[0] = 3; }, "node 3 of 3");
  fails([](E& e) { e.nodes_truenodeids[0] = -1; }, "node -1 of 3");
  fails([](E& e) { e.nodes_truenodeids[1] = 4; }, "leaf 4 of 4");
  fails([](E& e) { e.nodes_truenodeids[0] = 0; }, "a node is its own descendant");
  fails([](E& e) { e.tree_roots = {3}; }, "root 3 of 3");
  fails([](E& e) { e.leaf_targetids[0] = 4; }, "target 4 of 4");
  fails([](E& e) { e.leaf_targetids[0] = -1; }, "target -1 of 4");
  fails([](E& e) { e.nodes_featureids[0] = -2; }, "a node asks for feature -2");
  fails([](E& e) { e.nodes_featureids[0] = 1; }, "feature 1 of rows of 1");
  fails([](E& e) { e.n_targets = -1; }, "n_targets: -1, expected at least 1");
  fails([](E& e) { e.aggregate_function = 4; }, "aggregate_function: 4, expected 0, 1, 2 or 3");
  fails([](E& e) { e.post_transform = 5; }, "post_transform: 5, expected");
  fails([](E& e) { e.nodes_splits = {}; }, "are required");
  check_fails(sets(), {t<float>({1}, {0})}, "X: rank 1, expected 2");
  check_fails(sets(), {t<int64_t>({1, 1}, {0})}, "X cannot be tensor(int64)");
}

TEST_CASE("TreeEnsemble: symbols, called") {
  const Dim n = Dim::symbol(1);
  CHECK(infer(sets(), {info(DType::float32, {n, Dim()})})[0].dims == Dims{n, 4});
  const auto y = sets()(Tensor<float, Shape<1, 1>>{{8}});
  CHECK(y(0, 0) == 1);
}
}  // namespace tenon
