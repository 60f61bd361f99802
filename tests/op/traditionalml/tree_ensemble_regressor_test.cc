#include "tenon/op/traditionalml/tree_ensemble_regressor.hpp"

#include <cmath>

#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;
using R = op::TreeEnsembleRegressor;

namespace {
/// Two trees, stumps on features 0 and 1 with bound 1: the first gives 10 or 20, the second 1 or 2 to target
/// 0, and the second 5 to target 1 where its test fails.
R stumps(const char* mode = "BRANCH_LEQ") {
  return {.n_targets = 2,
          .nodes_falsenodeids = {2, 0, 0, 2, 0, 0},
          .nodes_featureids = {0, 0, 0, 1, 0, 0},
          .nodes_modes = {mode, "LEAF", "LEAF", mode, "LEAF", "LEAF"},
          .nodes_nodeids = {0, 1, 2, 0, 1, 2},
          .nodes_treeids = {0, 0, 0, 7, 7, 7},
          .nodes_truenodeids = {1, 0, 0, 1, 0, 0},
          .nodes_values = {1, 0, 0, 1, 0, 0},
          .target_ids = {0, 0, 0, 0, 1},
          .target_nodeids = {1, 2, 1, 2, 2},
          .target_treeids = {0, 0, 7, 7, 7},
          .target_weights = {10, 20, 1, 2, 5}};
}
const float nan = std::nanf("");
}  // namespace

TEST_CASE("TreeEnsembleRegressor: modes and missing values") {
  const Value x = t<float>({4, 2}, {0, 0, 1, 1, 2, 2, nan, nan});
  const auto gives = [](std::initializer_list<bool> tests) {
    Tensor<float> y(Extents{4, 2});
    int64_t r = 0;
    for (const bool test : tests) {
      y(r, 0) = test ? 11 : 22;
      y(r++, 1) = test ? 0 : 5;
    }
    return Value(std::move(y));
  };
  const bool o = true, n = false;
  struct Row {
    const char* mode;
    Value y;
  } rows[] = {
      {"BRANCH_LEQ", gives({o, o, n, n})}, {"BRANCH_LT", gives({o, n, n, n})},
      {"BRANCH_GTE", gives({n, o, o, n})}, {"BRANCH_GT", gives({n, n, o, n})},
      {"BRANCH_EQ", gives({n, o, n, n})},  {"BRANCH_NEQ", gives({o, n, o, n})},
  };
  for (const Row& row : rows) {
    CAPTURE(row.mode);
    R r = stumps(row.mode);
    check(r, {x}, {row.y});
    r.nodes_missing_value_tracks_true = {1, 0, 0, 1, 0, 0};
    Tensor<float> with = row.y.as<float>().clone();
    with(3, 0) = 11;
    with(3, 1) = 0;
    check(r, {x}, {with});
  }
}

TEST_CASE("TreeEnsembleRegressor: aggregates, base values, transforms") {
  const Value x = t<float>({2, 2}, {0, 0, 2, 2});
  const float most = std::numeric_limits<float>::max();
  const auto with = [](auto change) {
    R r = stumps();
    change(r);
    return r;
  };
  const auto e = [](double v) { return static_cast<float>(std::exp(v)); };
  struct Row {
    R op;
    Value y;
  } rows[] = {
      {stumps(), t<float>({2, 2}, {11, 0, 22, 5})},
      {with([](R& r) { r.aggregate_function = "AVERAGE"; }), t<float>({2, 2}, {5.5f, 0, 11, 2.5f})},
      {with([](R& r) { r.aggregate_function = "MIN"; }), t<float>({2, 2}, {1, most, 2, 5})},
      {with([](R& r) { r.aggregate_function = "MAX"; }), t<float>({2, 2}, {10, -most, 20, 5})},
      {with([](R& r) { r.base_values = {100, 200}; }), t<float>({2, 2}, {111, 200, 122, 205})},
      {with([](R& r) { r.base_values = {1}; }), t<float>({2, 2}, {12, 1, 23, 6})},
      {with([](R& r) { r.aggregate_function = "AVERAGE", r.base_values = {1, 2}; }),
       t<float>({2, 2}, {6.5f, 2, 12, 4.5f})},
      {with([](R& r) { r.post_transform = "SOFTMAX"; }),
       t<float>({2, 2}, {1 / (1 + e(-11)), e(-11) / (1 + e(-11)), 1 / (1 + e(-17)), e(-17) / (1 + e(-17))})},
      {with([](R& r) { r.post_transform = "SOFTMAX_ZERO"; }),
       t<float>({2, 2}, {1, 0, 1 / (1 + e(-17)), e(-17) / (1 + e(-17))})},
      {with([](R& r) { r.post_transform = "LOGISTIC"; }),
       t<float>({2, 2}, {1 / (1 + e(-11)), 0.5f, 1, 1 / (1 + e(-5))})},
      {with([](R& r) { r.n_targets = {}; }), t<float>({2, 2}, {11, 0, 22, 5})},
      {with([](R& r) { r.n_targets = 3; }), t<float>({2, 3}, {11, 0, 0, 22, 5, 0})},
      {with([](R& r) { r.nodes_hitrates = {1, 1, 1, 1, 1, 1}; }), t<float>({2, 2}, {11, 0, 22, 5})},
  };
  for (const Row& row : rows) check(row.op, {x}, {row.y}, 1e-5, 1e-6);
  R probit = stumps();
  probit.target_weights = {0.25f, 0.5f, 0, 0.25f, 0.5f};
  probit.post_transform = "PROBIT";
  check(probit, {x}, {t<float>({2, 2}, {-0.674489f, 0, 0.674489f, 0})}, 1e-3);
}

TEST_CASE("TreeEnsembleRegressor: types, tensors, forms of trees") {
  const Value y = t<float>({2, 2}, {11, 0, 22, 5});
  check(stumps(), {t<double>({2, 2}, {0, 0, 2, 2})}, {y});
  check(stumps(), {t<int32_t>({2, 2}, {1, 1, 2, 2})}, {y});
  check(stumps(), {t<int64_t>({2, 3}, {1, 1, 9, 2, 2, 9})}, {y});
  check(stumps(), {t<float>({0, 2}, {})}, {t<float>({0, 2}, {})});
  // A bound that no float tells from 1.
  R fine = stumps();
  fine.nodes_values.clear();
  fine.nodes_values_as_tensor = {t<double>({6}, {1 - 1e-12, 0, 0, 1 + 1e-12, 0, 0})};
  fine.target_weights.clear();
  fine.target_weights_as_tensor = {t<double>({5}, {10, 20, 1, 2, 5})};
  fine.base_values_as_tensor = {t<double>({2}, {0.5, 0})};
  fine.nodes_hitrates_as_tensor = {t<double>({6}, {1, 1, 1, 1, 1, 1})};
  check(fine, {t<double>({1, 2}, {1, 1})}, {t<float>({1, 2}, {21.5f, 0})});
  check(fine, {t<float>({1, 2}, {1, 1})}, {t<float>({1, 2}, {21.5f, 0})});
  // Nodes in any order, the root first, numbers with gaps; two nodes share a child; a vote for an inner node.
  const R shared{.n_targets = 1,
                 .nodes_falsenodeids = {5, 0, 9, 0},
                 .nodes_featureids = {0, -2, 0, -2},
                 .nodes_modes = {"BRANCH_EQ", "LEAF", "BRANCH_EQ", "LEAF"},
                 .nodes_nodeids = {40, 3, 5, 9},
                 .nodes_treeids = {1, 1, 1, 1},
                 .nodes_truenodeids = {3, 0, 3, 0},
                 .nodes_values = {1, 0, 3, 0},
                 .target_ids = {0, 0, 0},
                 .target_nodeids = {3, 9, 5},
                 .target_treeids = {1, 1, 1},
                 .target_weights = {7, -7, 1000}};
  check(shared, {t<float>({4, 1}, {1, 2, 3, nan})}, {t<float>({4, 1}, {7, -7, 7, -7})});
  // Trees of one leaf, and none at all.
  const R leaf{.nodes_falsenodeids = {0},
               .nodes_featureids = {0},
               .nodes_modes = {"LEAF"},
               .nodes_nodeids = {0},
               .nodes_treeids = {0},
               .nodes_truenodeids = {0},
               .nodes_values = {0},
               .target_ids = {0},
               .target_nodeids = {0},
               .target_treeids = {0},
               .target_weights = {3}};
  check(leaf, {t<float>({2, 0}, {})}, {t<float>({2, 1}, {3, 3})});
  check(R{.base_values = {4}}, {t<float>({2, 1}, {1, 2})}, {t<float>({2, 1}, {4, 4})});
}

TEST_CASE("TreeEnsembleRegressor: refused") {
  const Value x = t<float>({1, 2}, {0, 0});
  const auto fails = [&](auto change, std::string_view text) {
    R r = stumps();
    change(r);
    check_fails(r, {x}, text);
  };
  fails([](R& r) { r.nodes_falsenodeids.pop_back(); }, "nodes_falsenodeids: 5 entries, expected 6");
  fails([](R& r) { r.nodes_featureids.pop_back(); }, "nodes_featureids: 5 entries");
  fails([](R& r) { r.nodes_modes.pop_back(); }, "nodes_modes: 5 entries");
  fails([](R& r) { r.nodes_nodeids.pop_back(); }, "nodes_nodeids: 5 entries");
  fails([](R& r) { r.nodes_truenodeids.pop_back(); }, "nodes_truenodeids: 5 entries");
  fails([](R& r) { r.nodes_values.pop_back(); }, "nodes_values: 5 entries");
  fails([](R& r) { r.nodes_hitrates = {1}; }, "nodes_hitrates: 1 entries");
  fails([](R& r) { r.nodes_missing_value_tracks_true = {1}; }, "nodes_missing_value_tracks_true: 1 entries");
  fails([](R& r) { r.target_weights.pop_back(); }, "weights of votes: 4 entries, expected 5");
  fails([](R& r) { r.target_nodeids.pop_back(); }, "nodeids of votes: 4 entries, expected 5");
  fails([](R& r) { r.target_treeids.pop_back(); }, "treeids of votes: 4 entries, expected 5");
  fails([](R& r) { r.base_values = {1, 2, 3}; }, "base_values: 3 entries for 2 targets");
  fails([](R& r) { r.nodes_values_as_tensor = {t<double>({6}, {1, 0, 0, 1, 0, 0})}; },
        "nodes_values and nodes_values_as_tensor are both given");
  fails([](R& r) { r.base_values_as_tensor = {t<int64_t>({2}, {1, 0})}; },
        "base_values_as_tensor: tensor(int64) (2), expected a list of double");
  fails([](R& r) { r.base_values_as_tensor = {t<double>({1, 2}, {1, 0})}; },
        "tensor(double) (1,2), expected a list");
  fails([](R& r) { r.nodes_modes[0] = "BRANCH"; }, "'BRANCH' is no mode");
  fails([](R& r) { r.nodes_truenodeids[0] = 9; }, "node 0 of tree 0 names node 9, which is not there");
  fails([](R& r) { r.nodes_truenodeids[0] = 0; }, "a node is its own descendant");
  fails([](R& r) { r.nodes_nodeids[1] = 2; }, "node 2 of tree 0 is stated twice");
  fails([](R& r) { r.target_nodeids[0] = 9; }, "a vote names node 9 of tree 0, which is not there");
  fails([](R& r) { r.target_ids[0] = 2; }, "a vote for target 2 of 2");
  fails([](R& r) { r.target_ids[0] = -1; }, "a vote for target -1 of 2");
  fails([](R& r) { r.nodes_featureids[0] = -1; }, "a node asks for feature -1");
  fails([](R& r) { r.nodes_featureids[0] = INT64_MAX; }, "a node asks for feature");
  fails([](R& r) { r.nodes_featureids[0] = 2; }, "feature 2 of rows of 2");
  fails([](R& r) { r.n_targets = 0; }, "n_targets: 0, expected at least 1");
  fails([](R& r) { r.aggregate_function = "MEAN"; }, "aggregate_function: 'MEAN', expected");
  fails([](R& r) { r.post_transform = "MEAN"; }, "post_transform: 'MEAN', expected");
  check_fails(stumps(), {t<float>({2}, {0, 0})}, "X: rank 1, expected 2");
  check_fails(stumps(), {cast<float16>({1, 2}, {0, 0})}, "X cannot be tensor(float16)");
}

TEST_CASE("TreeEnsembleRegressor: versions, symbols, called") {
  const Dim n = Dim::symbol(1);
  CHECK(infer(stumps(), {info(DType::float32, {n, Dim()})})[0].dims == Dims{n, 2});
  const auto y = stumps()(Tensor<float, Shape<1, 2>>{{0, 0}});
  CHECK(y(0, 0) == 11);
  const Attributes leaf{{"nodes_falsenodeids", ints{0}},
                        {"nodes_featureids", ints{0}},
                        {"nodes_modes", std::vector<std::string>{"LEAF"}},
                        {"nodes_nodeids", ints{0}},
                        {"nodes_treeids", ints{0}},
                        {"nodes_truenodeids", ints{0}},
                        {"nodes_values", std::vector<float>{0}},
                        {"target_ids", ints{0}},
                        {"target_nodeids", ints{0}},
                        {"target_treeids", ints{0}},
                        {"target_weights", std::vector<float>{3}}};
  for (int version : {1, 3, 5})
    check(stated<R>(version, leaf), {t<float>({1, 1}, {0})}, {t<float>({1, 1}, {3})});
  check_refused<R>(1, {{"base_values_as_tensor", Value(t<double>({1}, {1}))}}, "has no attribute");
}
}  // namespace tenon
